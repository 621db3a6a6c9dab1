import assert from "node:assert/strict";
import type { Node, Pod, PodCondition } from "#kinds";
import { refusal } from "../registry/testing.ts";
import { type NodesTest, startNodes } from "./testing.ts";

const wish = (name: string, value: string) => ({
  annotations: { [`simulated.keelson.dev/${name}`]: value },
});

function stateOf({ status }: Pod, name = "app"): string {
  const all = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  const { state, restartCount } = all.find((each) => each.name === name) ?? {};
  const { waiting, terminated } = state ?? {};
  const word = waiting?.reason ?? (terminated ? `exit ${terminated.exitCode}` : "running");
  return `${word} ${restartCount}`;
}

function conditionOf({ status }: Pod, type: string): PodCondition | undefined {
  return status?.conditions?.find((each) => each.type === type);
}

describe("simulated nodes", () => {
  let run: NodesTest;
  beforeEach(async () => {
    run = await startNodes({ count: 2 });
  });
  afterEach(async () => {
    await run.stop();
    assert.deepEqual(run.reports, []);
  });

  const node = async (name = "hollow-0"): Promise<Node> =>
    (await run.test.get(`v1/nodes//${name}`)).object;
  const setFailure = async (value: string) =>
    run.test.patch("v1/nodes//hollow-0", { metadata: wish("failure", value) });
  const renewTime = async () => {
    const path = "coordination.k8s.io/v1/leases/kube-node-lease/hollow-0";
    return Date.parse((await run.test.get(path)).object.spec.renewTime) - run.test.clock.now();
  };

  it("register as kubelets do, with a Lease each", async () => {
    const { metadata, status } = await node();
    assert.equal(metadata.labels?.["kubernetes.io/hostname"], "hollow-0");
    assert.deepEqual(
      status?.conditions?.map(({ type, status: is, reason }) => [type, is, reason]),
      [
        ["MemoryPressure", "False", "KubeletHasSufficientMemory"],
        ["DiskPressure", "False", "KubeletHasNoDiskPressure"],
        ["PIDPressure", "False", "KubeletHasSufficientPID"],
        ["Ready", "True", "KubeletReady"],
      ],
    );
    assert.equal(status?.allocatable?.["memory"], "32668Mi");
    const lease = await run.test.get("coordination.k8s.io/v1/leases/kube-node-lease/hollow-1");
    assert.deepEqual(lease.object.metadata.ownerReferences, [
      {
        apiVersion: "v1",
        kind: "Node",
        name: "hollow-1",
        uid: (await node("hollow-1")).metadata.uid,
      },
    ]);
  });

  it("renew the Lease every ten seconds and the status every five minutes", async () => {
    const { status, metadata } = await node();
    await run.pass(100_000);
    assert.ok((await renewTime()) > -11_000);
    assert.equal((await node()).metadata.resourceVersion, metadata.resourceVersion);
    await run.pass(230_000);
    const { conditions = [] } = (await node()).status ?? {};
    assert.notEqual(conditions[0]?.lastHeartbeatTime, status?.conditions?.[0]?.lastHeartbeatTime);
    assert.equal(conditions[0]?.lastTransitionTime, status?.conditions?.[0]?.lastTransitionTime);
  });

  it("report Ready again after a controller has set it to Unknown", async () => {
    const { status } = await node();
    const conditions = status?.conditions?.map((each) => ({ ...each, status: "Unknown" }));
    await run.test.patch("v1/nodes//hollow-0/status", { status: { conditions } });
    await run.pass(0);
    const ready = (await node()).status?.conditions?.find(({ type }) => type === "Ready");
    assert.equal(ready?.status, "True");
  });

  it("become unresponsive, and return, by annotation", async () => {
    await setFailure("silent");
    await run.createPod("p", {});
    await run.pass(60_000);
    assert.ok((await renewTime()) <= -60_000);
    assert.equal((await run.pod("p")).status?.phase, "Pending");
    await setFailure("disk-pressure");
    await run.pass(1_000);
    assert.ok((await renewTime()) > -11_000);
    assert.equal((await run.pod("p")).status?.phase, "Running");
    const pressure = (await node()).status?.conditions?.find(({ type }) => type === "DiskPressure");
    assert.equal(pressure?.reason, "KubeletHasDiskPressure");
  });

  it("stop when their Node object is deleted", async () => {
    await setFailure("gone");
    await run.pass(30_000);
    assert.match(await refusal(run.test.get("v1/nodes//hollow-0")), /^404/);
    assert.equal((await node("hollow-1")).metadata.name, "hollow-1");
  });
});

describe("pods of simulated nodes", () => {
  let run: NodesTest;
  beforeEach(async () => {
    run = await startNodes();
  });
  afterEach(async () => {
    await run.stop();
    assert.deepEqual(run.reports, []);
  });

  it("are Running and Ready, with addresses of the node's range", async () => {
    const { status } = await run.createPod("a", {});
    assert.equal(status?.phase, "Running");
    assert.deepEqual(
      status?.conditions?.map(({ type, status: is }) => `${type}=${is}`),
      [
        "PodReadyToStartContainers=True",
        "Initialized=True",
        "Ready=True",
        "ContainersReady=True",
        "PodScheduled=True",
      ],
    );
    assert.equal(status?.podIP, "10.128.0.2");
    assert.equal((await run.createPod("b", {})).status?.podIP, "10.128.0.3");
    const host = await run.createPod("c", { spec: { hostNetwork: true } });
    assert.equal(host.status?.podIP, "127.0.0.1");
  });

  it("run init containers one after another, and sidecars along with the containers", async () => {
    const initContainers = [
      { name: "first", image: "i" },
      { name: "side", image: "s", restartPolicy: "Always" },
      { name: "second", image: "i" },
    ];
    const metadata = wish("exit-after", "first=2s,second=3s");
    let pod = await run.createPod("p", { metadata, spec: { initContainers } });
    assert.equal(stateOf(pod, "first"), "running 0");
    assert.equal(stateOf(pod, "side"), "PodInitializing 0");
    assert.equal(
      conditionOf(pod, "Initialized")?.message,
      "containers with incomplete status: [first side second]",
    );
    await run.pass(2_000);
    pod = await run.pod("p");
    assert.deepEqual(
      ["first", "side", "second", "app"].map((name) => stateOf(pod, name)),
      ["exit 0 0", "running 0", "running 0", "PodInitializing 0"],
    );
    assert.equal(pod.status?.phase, "Pending");
    await run.pass(3_000);
    pod = await run.pod("p");
    assert.equal(stateOf(pod, "second"), "exit 0 0");
    assert.equal(pod.status?.phase, "Running");
    assert.equal(conditionOf(pod, "Ready")?.status, "True");
  });

  it("keep containers waiting if an init container fails", async () => {
    const initContainers = [{ name: "first", image: "i", command: ["/bin/false"] }];
    await run.createPod("p", { spec: { initContainers, restartPolicy: "Never" } });
    await run.pass(2_000);
    const pod = await run.pod("p");
    assert.deepEqual(
      ["first", "app"].map((name) => stateOf(pod, name)),
      ["exit 1 0", "PodInitializing 0"],
    );
    assert.equal(pod.status?.phase, "Failed");
    assert.equal(conditionOf(pod, "Initialized")?.reason, "ContainersNotInitialized");
  });

  it("crash and are restarted with exponential backoff", async () => {
    const metadata = wish("crash-loop", "true");
    await run.createPod("p", { metadata });
    const restarts: number[] = [];
    for (let second = 1, seen = 0; second <= 90; second++) {
      await run.pass(1_000);
      const count = (await run.pod("p")).status?.containerStatuses?.[0]?.restartCount ?? 0;
      if (count > seen) restarts.push(second);
      seen = count;
    }
    const pod = await run.pod("p");
    assert.deepEqual(restarts, [2, 13, 34, 75]);
    assert.equal(stateOf(pod), "CrashLoopBackOff 4");
    const { name, uid } = pod.metadata;
    assert.equal(
      pod.status?.containerStatuses?.[0]?.state?.waiting?.message,
      `back-off 1m20s restarting failed container=app pod=${name}_ns(${uid})`,
    );
    assert.equal(pod.status?.phase, "Running");
  });

  it("of Jobs succeed; others fail by annotation with restartPolicy Never", async () => {
    const spec = { restartPolicy: "Never" };
    const uid = "11111111-1111-4111-8111-111111111111";
    const owner = { apiVersion: "batch/v1", kind: "Job", name: "j", uid, controller: true };
    await run.createPod("job", { metadata: { ownerReferences: [owner] }, spec });
    await run.createPod("fails", { metadata: wish("exit-code", "42"), spec });
    await run.createPod("runs", { spec });
    await run.pass(2_000);
    const phases = await Promise.all(["job", "fails", "runs"].map(run.pod));
    assert.deepEqual(
      phases.map(({ status }) => status?.phase),
      ["Succeeded", "Failed", "Running"],
    );
    assert.equal(conditionOf(phases[0]!, "Ready")?.reason, "PodCompleted");
    assert.equal(stateOf(phases[1]!), "exit 42 0");
  });

  it("run until their command exits if they may complete", async () => {
    const containers = [{ name: "app", image: "busybox", command: ["sleep", "3"] }];
    const uid = "11111111-1111-4111-8111-111111111111";
    const owner = { apiVersion: "batch/v1", kind: "Job", name: "j", uid, controller: true };
    const metadata = { ownerReferences: [owner] };
    await run.createPod("job", { metadata, spec: { restartPolicy: "OnFailure", containers } });
    await run.createPod("always", { spec: { containers } });
    const failing = [{ name: "app", image: "busybox", command: ["sh", "-c", "exit 7"] }];
    await run.createPod("fails", { spec: { restartPolicy: "Never", containers: failing } });
    await run.pass(2_000);
    assert.equal(stateOf(await run.pod("job")), "running 0");
    assert.equal(stateOf(await run.pod("fails")), "exit 7 0");
    await run.pass(1_000);
    assert.equal((await run.pod("job")).status?.phase, "Succeeded");
    assert.equal(stateOf(await run.pod("always")), "running 0");
  });

  it("are rejected by a node without room, or that does not match", async () => {
    const requesting = (cpu: string) => ({
      containers: [
        { name: "app", image: "nginx", resources: { requests: { cpu, memory: "1Gi" } } },
      ],
    });
    await run.createPod("first", { spec: requesting("5") });
    const { status } = await run.createPod("second", { spec: requesting("3500m") });
    assert.deepEqual(
      [status?.phase, status?.reason, status?.message, status?.containerStatuses],
      [
        "Failed",
        "OutOfcpu",
        "Pod was rejected: Node didn't have enough resource: cpu, requested: 3500, used: 5000, " +
          "capacity: 8000",
        undefined,
      ],
    );
    assert.equal(
      (await run.createPod("third", { spec: requesting("3") })).status?.phase,
      "Running",
    );
    const other = await run.createPod("other", { spec: { nodeSelector: { disk: "ssd" } } });
    assert.deepEqual(
      [other.status?.reason, other.status?.message],
      [
        "NodeAffinity",
        "Pod was rejected: Predicate NodeAffinity failed: node(s) didn't match Pod's node " +
          "affinity/selector",
      ],
    );
    await run.test.patch("v1/nodes//hollow-0", { metadata: wish("failure", "memory-pressure") });
    await run.pass(0);
    const idle = await run.createPod("idle", {});
    assert.deepEqual(
      [idle.status?.reason, idle.status?.message],
      ["Evicted", "Pod was rejected: The node had condition: [MemoryPressure]. "],
    );
    await run.test.remove("v1/pods/ns/first");
    await run.pass(0);
    assert.equal(
      (await run.createPod("fourth", { spec: requesting("5") })).status?.phase,
      "Running",
    );
  });

  it("are evicted one by one while their node has memory pressure", async () => {
    const using = (usage: string, memory: string) => ({
      metadata: wish("usage-memory", usage),
      spec: { containers: [{ name: "app", image: "i", resources: { requests: { memory } } }] },
    });
    await run.createPod("modest", using("50Mi", "100Mi"));
    await run.createPod("greedy", using("300Mi", "100Mi"));
    await run.createPod("greedier", using("500Mi", "100Mi"));
    const setAvailable = (value: string) =>
      run.test.patch("v1/nodes//hollow-0", { metadata: wish("available-memory", value) });
    await setAvailable("60Mi");
    await run.pass(1_000);
    const { status } = await run.pod("greedier");
    assert.deepEqual([status?.phase, status?.reason], ["Failed", "Evicted"]);
    assert.equal(
      status?.message,
      "The node was low on resource: memory. Threshold quantity: 100Mi, available: 60Mi. " +
        "Container app was using 500Mi, request is 100Mi, has larger consumption of memory. ",
    );
    const target = conditionOf(await run.pod("greedier"), "DisruptionTarget");
    assert.deepEqual([target?.status, target?.reason], ["True", "TerminationByKubelet"]);
    assert.equal((await run.pod("greedy")).status?.phase, "Running");
    await run.pass(10_000);
    assert.equal((await run.pod("greedy")).status?.reason, "Evicted");
    await setAvailable("10Gi");
    await run.pass(20_000);
    assert.equal((await run.pod("modest")).status?.phase, "Running");
  });

  it("terminate when they are deleted, within their grace period", async () => {
    await run.createPod("quick", {});
    await run.test.remove("v1/pods/ns/quick");
    await run.pass(0);
    assert.match(await refusal(run.test.get("v1/pods/ns/quick")), /^404/);
    const finalizers = ["example.com/wait"];
    const metadata = { ...wish("stop-after", "1h"), finalizers };
    await run.createPod("slow", { metadata, spec: { terminationGracePeriodSeconds: 5 } });
    await run.test.remove("v1/pods/ns/slow");
    await run.pass(4_000);
    assert.equal(stateOf(await run.pod("slow")), "running 0");
    await run.pass(1_000);
    const pod = await run.pod("slow");
    assert.equal(stateOf(pod), "exit 137 0");
    assert.equal(pod.status?.phase, "Failed");
    assert.equal(Number(pod.metadata.deletionGracePeriodSeconds), 0);
  });

  it("wait for readiness gates, and keep the conditions of others", async () => {
    const spec = { readinessGates: [{ conditionType: "example.com/lb" }] };
    let pod = await run.createPod("p", { spec });
    assert.equal(
      conditionOf(pod, "Ready")?.message,
      'corresponding condition of pod readiness gate "example.com/lb" does not exist.',
    );
    const conditions = [{ type: "example.com/lb", status: "True" }];
    const options = { patchType: "strategic" } as const;
    await run.test.patch("v1/pods/ns/p/status", { status: { conditions } }, options);
    await run.pass(0);
    pod = await run.pod("p");
    assert.equal(conditionOf(pod, "Ready")?.status, "True");
    assert.equal(conditionOf(pod, "example.com/lb")?.status, "True");
  });

  it("fail after activeDeadlineSeconds", async () => {
    await run.createPod("p", { spec: { activeDeadlineSeconds: 5 } });
    await run.pass(5_000);
    const { status } = await run.pod("p");
    assert.deepEqual([status?.phase, status?.reason], ["Failed", "DeadlineExceeded"]);
  });

  it("cannot pull images with names of missing images", async () => {
    const images = [
      "foo:non-existent",
      "invalid.registry.k8s.io/a:1",
      "r.invalid/a",
      "does-not-exist",
      "webserver:404",
    ];
    for (const [at, image] of images.entries()) {
      await run.createPod(`missing-${at}`, { spec: { containers: [{ name: "app", image }] } });
      assert.equal(stateOf(await run.pod(`missing-${at}`)), "ErrImagePull 0");
    }
    const containers = [{ name: "app", image: "registry.example/existent/invalid:1" }];
    await run.createPod("there", { spec: { containers } });
    assert.equal(stateOf(await run.pod("there")), "running 0");
  });

  it("are not ready, never start or lack their image by annotation", async () => {
    await run.createPod("unready", { metadata: wish("ready", "false") });
    await run.createPod("never", { metadata: wish("never-start", "true") });
    await run.createPod("pull", { metadata: wish("image-pull-error", "no such image") });
    await run.pass(5_000);
    assert.equal(conditionOf(await run.pod("unready"), "Ready")?.reason, "ContainersNotReady");
    assert.equal(stateOf(await run.pod("never")), "ContainerCreating 0");
    assert.equal(stateOf(await run.pod("pull")), "ImagePullBackOff 0");
    await run.test.patch("v1/pods/ns/pull", { metadata: { annotations: null } });
    await run.pass(0);
    assert.equal(stateOf(await run.pod("pull")), "running 0");
  });

  it("are rejected with an Event, and without the conditions of their kubelet", async () => {
    const requirement = { key: "disk", operator: "In", values: ["ssd"] };
    const required = { nodeSelectorTerms: [{ matchExpressions: [requirement] }] };
    const nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution: required };
    const { status } = await run.createPod("p", { spec: { affinity: { nodeAffinity } } });
    const message =
      "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector";
    assert.deepEqual(
      [status?.phase, status?.reason, status?.message, status?.conditions],
      ["Failed", "NodeAffinity", `Pod was rejected: ${message}`, undefined],
    );
    const [name = ""] = await run.test.names("v1/events/ns");
    const { object } = await run.test.get(`v1/events/ns/${name}`);
    assert.deepEqual(
      [object.type, object.reason, object.message],
      ["Warning", "NodeAffinity", message],
    );
  });

  it("have addresses of both families on dual-stack nodes", async () => {
    await run.stop();
    run = await startNodes({ secondaryAddress: "fd00::1" }, run.test);
    const ipsOf = async (name: string) => {
      const { status } = await run.pod(name);
      return [status?.hostIPs, status?.podIPs].map((ips) => ips?.map(({ ip }) => ip).join());
    };
    await run.createPod("p", {});
    assert.deepEqual(await ipsOf("p"), ["127.0.0.1,fd00::1", "10.128.0.2,fd00:6b65:656c::2"]);
    await run.createPod("host", { spec: { hostNetwork: true } });
    assert.deepEqual(await ipsOf("host"), ["127.0.0.1,fd00::1", "127.0.0.1,fd00::1"]);
    const { object } = await run.test.get("v1/nodes//hollow-0");
    assert.deepEqual(
      (object as Node).status?.addresses?.map(({ address }) => address),
      ["127.0.0.1", "fd00::1", "hollow-0"],
    );
  });

  it("continue unchanged after a restart of their node", async () => {
    const before = await run.createPod("p", {});
    await run.stop();
    run = await startNodes({}, run.test);
    await run.pass(10_000);
    assert.deepEqual((await run.pod("p")).status, before.status);
    assert.equal((await run.createPod("q", {})).status?.podIP, "10.128.0.3");
  });
});
