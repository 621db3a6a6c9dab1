import assert from "node:assert/strict";
import { type NodesTest, startNodes } from "../testing.ts";

describe("commands of simulated containers", () => {
  let run: NodesTest;
  beforeEach(async () => {
    run = await startNodes();
  });
  afterEach(async () => {
    await run.stop();
    assert.deepEqual(run.reports, []);
  });

  const stateOf = async (name: string) =>
    (await run.pod(name)).status?.containerStatuses?.[0]?.state;
  const containerWith = (more: object) => [{ name: "app", image: "busybox", ...more }];

  it("wait for the ConfigMaps and Secrets of their environment", async () => {
    const from = { configMapKeyRef: { name: "settings", key: "colour" } };
    const env = [{ name: "COLOUR", valueFrom: from }];
    const envFrom = [{ secretRef: { name: "keys" } }];
    await run.createPod("p", { spec: { containers: containerWith({ env, envFrom }) } });
    await run.pass(1_000);
    const fault = (message: string) => {
      return { waiting: { reason: "CreateContainerConfigError", message } };
    };
    assert.deepEqual(await stateOf("p"), fault('secret "keys" not found'));
    await run.test.post("v1/secrets/ns", { metadata: { name: "keys" } });
    await run.pass(1_000);
    assert.deepEqual(await stateOf("p"), fault('configmap "settings" not found'));
    const settings = { metadata: { name: "settings" }, data: { shape: "round" } };
    await run.test.post("v1/configmaps/ns", settings);
    await run.pass(1_000);
    const message = "couldn't find key colour in ConfigMap ns/settings";
    assert.deepEqual(await stateOf("p"), fault(message));
    const names = await run.test.names("v1/events/ns");
    const told = await Promise.all(names.map((name) => run.test.get(`v1/events/ns/${name}`)));
    const faults = told.map(({ object }) => object).filter((event) => event.reason === "Failed");
    assert.ok(faults.some((event) => event.message === 'Error: secret "keys" not found'));
    await run.test.patch("v1/configmaps/ns/settings", { data: { colour: "blue" } });
    await run.pass(1_000);
    assert.notEqual((await stateOf("p"))?.running, undefined);
  });

  for (const { title, variable, message, ...mount } of [
    { title: "no value", subPathExpr: "$(PART)", variable: "", message: "missing value for PART" },
    {
      title: "absent variables",
      subPathExpr: "$(Z)/$(A)",
      variable: "x",
      message: "missing value for A, Z",
    },
    {
      title: "an absolute path",
      subPathExpr: "$(PART)",
      variable: "/tmp",
      message: "error SubPath `/tmp` must not be an absolute path",
    },
    {
      title: "a path outside of the volume",
      subPathExpr: "a/$(PART)",
      variable: "..",
      message: "unable to provision SubPath `a/..`: must not contain '..'",
    },
  ]) {
    it(`are not created with a subPathExpr that expands to ${title}, until it is mended`, async () => {
      const field = { fieldRef: { fieldPath: "metadata.annotations['part']" } };
      const containers = containerWith({
        env: [{ name: "PART", valueFrom: field }],
        volumeMounts: [{ name: "work", mountPath: "/work", ...mount }],
      });
      await run.createPod("p", {
        metadata: { annotations: { part: variable } },
        spec: { containers, volumes: [{ name: "work", emptyDir: {} }] },
      });
      await run.pass(1_000);
      const reason = "CreateContainerConfigError";
      assert.deepEqual(await stateOf("p"), { waiting: { reason, message } });
      if (title === "absent variables") return;
      await run.test.patch("v1/pods/ns/p", { metadata: { annotations: { part: "good" } } });
      await run.pass(1_000);
      assert.notEqual((await stateOf("p"))?.running, undefined);
    });
  }

  it("start without optional objects", async () => {
    const from = { secretKeyRef: { name: "none", key: "k", optional: true } };
    const env = [{ name: "K", valueFrom: from }];
    const envFrom = [{ configMapRef: { name: "none", optional: true } }];
    await run.createPod("p", { spec: { containers: containerWith({ env, envFrom }) } });
    await run.pass(1_000);
    assert.notEqual((await stateOf("p"))?.running, undefined);
  });

  it("see the addresses of a pod that terminates immediately, which stay in its status", async () => {
    const script = "echo -n $POD_IP $HOST_IP > /dev/termination-log";
    const field = (fieldPath: string) => ({ valueFrom: { fieldRef: { fieldPath } } });
    const env = [
      { name: "POD_IP", ...field("status.podIP") },
      { name: "HOST_IP", ...field("status.hostIP") },
    ];
    const containers = containerWith({ command: ["sh", "-c", script], env });
    await run.createPod("p", { spec: { restartPolicy: "Never", containers } });
    await run.pass(10_000);
    const { phase, podIP = "", hostIP = "" } = (await run.pod("p")).status ?? {};
    assert.deepEqual([phase, podIP === "", hostIP === ""], ["Succeeded", false, false]);
    assert.equal((await stateOf("p"))?.terminated?.message, `${podIP} ${hostIP}`);
  });

  it("exit by their environment and files, with a termination message", async () => {
    await run.test.post("v1/configmaps/ns", { metadata: { name: "c" }, data: { code: "5" } });
    const script =
      'echo -n "$POD in $ZONE" > /dev/termination-log; sleep $SECONDS_; exit $(cat /config/code)';
    const env = [
      { name: "POD", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
      { name: "ZONE", valueFrom: { fieldRef: { fieldPath: "metadata.labels['zone']" } } },
      { name: "SECONDS_", value: "$(CPUS)" },
    ];
    const cpus = { resourceFieldRef: { resource: "requests.cpu", divisor: "1" } };
    await run.createPod("p", {
      metadata: { labels: { zone: "z1" } },
      spec: {
        restartPolicy: "Never",
        volumes: [{ name: "config", configMap: { name: "c" } }],
        containers: containerWith({
          command: ["sh", "-c", script],
          env: [{ name: "CPUS", valueFrom: cpus }, ...env],
          resources: { requests: { cpu: "1500m" } },
          volumeMounts: [{ name: "config", mountPath: "/config" }],
        }),
      },
    });
    await run.pass(1_000);
    assert.notEqual((await stateOf("p"))?.running, undefined);
    await run.pass(2_000);
    const { exitCode, message } = (await stateOf("p"))?.terminated ?? {};
    assert.deepEqual([exitCode, message], [5, "p in z1"]);
  });

  describe("with an emptyDir volume", () => {
    const mount = { name: "scratch", mountPath: "/data" };
    const script = "echo x >> /data/runs; n=$(cat /data/runs | wc -l); echo $n; [ $n -ge 3 ]";
    const command = ["sh", "-c", script];
    const terminationMessagePolicy = "FallbackToLogsOnError";
    const createWith = (...more: readonly object[]) =>
      run.createPod("p", {
        spec: {
          restartPolicy: "OnFailure",
          volumes: [{ name: "scratch", emptyDir: {} }],
          containers: [
            ...containerWith({ command, terminationMessagePolicy, volumeMounts: [mount] }),
            ...more,
          ],
        },
      });

    it("find the files of earlier runs", async () => {
      await createWith();
      await run.pass(60_000);
      const { phase, containerStatuses = [] } = (await run.pod("p")).status ?? {};
      const [{ restartCount, lastState } = {}] = containerStatuses;
      assert.deepEqual([phase, restartCount], ["Succeeded", 2]);
      assert.equal(lastState?.terminated?.message, "2\n");
    });

    it("do not exit by their script if another container mounts the volume", async () => {
      await createWith({ name: "other", image: "busybox", volumeMounts: [mount] });
      await run.pass(60_000);
      assert.equal((await run.pod("p")).status?.phase, "Running");
    });
  });

  it("find files of other containers in a hostPath directory", async () => {
    const hostPath = { path: "/var/marks", type: "DirectoryOrCreate" };
    const script = "if [[ -r /data/mark ]]; then exit 0; fi; touch /data/mark; sleep 1000";
    const createPod = (name: string) =>
      run.createPod(name, {
        spec: {
          restartPolicy: "Never",
          terminationGracePeriodSeconds: 1,
          volumes: [{ name: "marks", hostPath }],
          containers: containerWith({
            command: ["sh", "-c", script],
            volumeMounts: [{ name: "marks", mountPath: "/data" }],
          }),
        },
      });
    await createPod("first");
    await run.pass(10_000);
    assert.notEqual((await stateOf("first"))?.running, undefined);
    await run.test.remove("v1/pods/ns/first");
    await run.pass(10_000);
    await createPod("second");
    await run.pass(10_000);
    assert.equal((await stateOf("second"))?.terminated?.exitCode, 0);
  });

  it("use the end of the log as termination message with FallbackToLogsOnError", async () => {
    const command = ["sh", "-c", "echo first; echo cannot go on; exit 2"];
    const terminationMessagePolicy = "FallbackToLogsOnError";
    const containers = containerWith({ command, terminationMessagePolicy });
    await run.createPod("p", { spec: { restartPolicy: "Never", containers } });
    await run.pass(1_000);
    assert.equal((await stateOf("p"))?.terminated?.message, "first\ncannot go on\n");
  });
});
