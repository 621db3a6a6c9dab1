import assert from "node:assert/strict";
import type { Pod } from "#kinds";
import { type NodesTest, startNodes } from "../testing.ts";

const wishes = (values: Readonly<Record<string, string>>) =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => [`simulated.keelson.dev/${name}`, value]),
  );

/** A pod that stays in the API after its termination. */
const finalizers = ["example.com/keep"];

interface Way {
  /** Stops the pod `p`. */
  readonly stop: (run: NodesTest) => Promise<unknown>;
  /** Seconds after which it must have ended, without annotations. */
  readonly after?: number;
  readonly spec?: object;
  readonly reason?: string;
}

const remove = (run: NodesTest) => run.test.remove("v1/pods/ns/p");
const annotateNode = (run: NodesTest, values: Readonly<Record<string, string>>) =>
  run.test.patch("v1/nodes//hollow-0", { metadata: { annotations: wishes(values) } });
const eviction = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: "p" } };
const critical = {
  priorityClassName: "system-node-critical",
  priority: 2_000_001_000,
  containers: [{ name: "app", image: "nginx", resources: { requests: { cpu: "8" } } }],
};
const requesting = { resources: { requests: { cpu: "1" } } };

const ways: Readonly<Record<string, Way>> = {
  "a deletion, as by kubectl, controllers and taints": { stop: remove },
  "an eviction, as by kubectl drain": {
    stop: (run) => run.test.post("v1/pods/ns/p/eviction", eviction),
  },
  "a deletion that its node sees after a restart": { stop: remove },
  "its active deadline": {
    spec: { activeDeadlineSeconds: 5 },
    stop: (run) => run.pass(5_000),
    reason: "DeadlineExceeded",
  },
  "pressure on its node": {
    stop: (run) => annotateNode(run, { "available-memory": "50Mi" }),
    after: 3,
    reason: "Evicted",
  },
  "preemption by a critical pod": {
    stop: (run) => run.createPod("critical", { spec: critical }),
    reason: "Preempting",
  },
  "a terminal phase from another client": {
    stop: (run) => run.test.patch("v1/pods/ns/p/status", { status: { phase: "Failed" } }),
  },
};

const exitCodes = ({ status }: Pod): Readonly<Record<string, number | undefined>> => {
  const { initContainerStatuses: inits = [], containerStatuses = [] } = status ?? {};
  return Object.fromEntries(
    [...inits, ...containerStatuses].map(({ name, state }) => [name, state?.terminated?.exitCode]),
  );
};

describe("stopped containers", () => {
  let run: NodesTest;
  beforeEach(async () => {
    run = await startNodes();
  });
  afterEach(async () => {
    await run.stop();
    assert.deepEqual(run.reports, []);
  });

  const create = (
    values: Readonly<Record<string, string>>,
    spec: object = {},
    containers: readonly object[] = [{ name: "app", image: "nginx", ...requesting }],
  ) =>
    run.createPod("p", {
      metadata: { finalizers, annotations: wishes(values) },
      spec: { terminationGracePeriodSeconds: 5, restartPolicy: "Never", containers, ...spec },
    });

  for (const [name, { stop, after = 0, spec, reason }] of Object.entries(ways)) {
    for (const [signal, values, code] of [
      ["SIGTERM", {}, 143],
      ["SIGKILL", { "stop-after": "1h" }, 137],
    ] as const) {
      it(`exit with ${code} by ${signal} after ${name}`, async () => {
        await create(values, spec);
        const isAway = name.includes("restart");
        if (isAway) await run.stop();
        await stop(run);
        if (isAway) run = await startNodes({}, run.test);
        await run.pass(code === 143 ? after * 1_000 : 8_000);
        const pod = await run.pod("p");
        assert.deepEqual(exitCodes(pod), { app: code });
        assert.deepEqual([pod.status?.phase, pod.status?.reason], ["Failed", reason]);
        const conditions = pod.status?.conditions?.filter(({ type }) => type.endsWith("Ready"));
        assert.deepEqual(
          conditions?.map((each) => [each.status, each.reason]),
          [
            ["False", "PodFailed"],
            ["False", "PodFailed"],
          ],
        );
      });
    }
  }

  for (const restartPolicy of ["Always", "OnFailure", "Never"]) {
    it(`fail their pod under the restart policy ${restartPolicy}`, async () => {
      await create({}, { restartPolicy });
      await remove(run);
      await run.pass(0);
      const pod = await run.pod("p");
      assert.deepEqual([exitCodes(pod), pod.status?.phase], [{ app: 143 }, "Failed"]);
    });
  }

  it("leave a pod Succeeded only if all containers exit with 0 by themselves", async () => {
    for (const [code, phase] of [
      ["0", "Succeeded"],
      ["3", "Failed"],
    ] as const) {
      await create({ "exit-code": code, "exit-after": "2s", "stop-after": "1h" });
      await remove(run);
      await run.pass(2_000);
      const pod = await run.pod("p");
      assert.deepEqual([exitCodes(pod), pod.status?.phase], [{ app: Number(code) }, phase]);
      await run.test.patch("v1/pods/ns/p", { metadata: { finalizers: null } });
    }
    await create({ "exit-code": "done=0", "exit-after": "done=0s" }, {}, [
      { name: "app", image: "nginx" },
      { name: "done", image: "nginx" },
    ]);
    await remove(run);
    await run.pass(0);
    const pod = await run.pod("p");
    assert.deepEqual([exitCodes(pod), pod.status?.phase], [{ app: 143, done: 0 }, "Failed"]);
  });

  it("include init containers", async () => {
    const initContainers = [{ name: "init", image: "i" }];
    await create({ "exit-after": "init=1h" }, { initContainers });
    await remove(run);
    await run.pass(0);
    const pod = await run.pod("p");
    assert.deepEqual([exitCodes(pod)["init"], pod.status?.phase], [143, "Failed"]);
  });

  it("have time to exit after a preStop hook that uses up the grace period", async () => {
    const lifecycle = { preStop: { sleep: { seconds: 5 } } };
    await create({ "stop-after": "1s" }, {}, [{ name: "app", image: "nginx", lifecycle }]);
    await remove(run);
    await run.pass(5_000);
    assert.deepEqual(exitCodes(await run.pod("p")), { app: undefined });
    await run.pass(1_000);
    assert.deepEqual(exitCodes(await run.pod("p")), { app: 143 });
  });

  it("are sidecars after the containers and later sidecars, without an effect on the phase", async () => {
    const sidecar = (name: string) => ({ name, image: "s", restartPolicy: "Always" });
    const initContainers = [sidecar("first"), sidecar("second")];
    const spec = { initContainers, terminationGracePeriodSeconds: 30 };
    await create({ "exit-code": "app=0", "exit-after": "app=2s", "stop-after": "3s" }, spec);
    const seen: unknown[] = [];
    for (const ms of [2_000, 3_000, 3_000]) {
      await run.pass(ms);
      const pod = await run.pod("p");
      seen.push([exitCodes(pod), pod.status?.phase]);
    }
    assert.deepEqual(seen, [
      [{ first: undefined, second: undefined, app: 0 }, "Running"],
      [{ first: undefined, second: 143, app: 0 }, "Running"],
      [{ first: 143, second: 143, app: 0 }, "Succeeded"],
    ]);
  });
});

describe("crashing containers", () => {
  for (const values of [
    { "crash-loop": "true" },
    { "crash-loop": "true", "ready-after": "0s" },
    { "exit-code": "1" },
    { "exit-code": "1", "exit-after": "5s" },
    { "exit-after": "2s" },
  ]) {
    it(`are never ready: ${JSON.stringify(values)}`, async () => {
      const run = await startNodes();
      let pod = await run.createPod("p", { metadata: { annotations: wishes(values) } });
      for (let second = 0; second < 40; second++) {
        const { conditions = [], containerStatuses: [app] = [] } = pod.status ?? {};
        const ready = conditions.filter(({ type }) => type.endsWith("Ready"));
        assert.deepEqual(
          [app?.ready, ...ready.map(({ status }) => status)],
          [false, "False", "False"],
        );
        await run.pass(1_000);
        pod = await run.pod("p");
      }
      assert.ok(Number(pod.status?.containerStatuses?.[0]?.restartCount) >= 2);
      await run.stop();
    });
  }

  it("are ready until then if they run longer or complete", async () => {
    const run = await startNodes();
    const ready = async (name: string, values: Readonly<Record<string, string>>, spec: object) => {
      const metadata = { annotations: wishes(values) };
      const { status } = await run.createPod(name, { metadata, spec });
      return status?.containerStatuses?.[0]?.ready;
    };
    const never = { restartPolicy: "Never" };
    assert.equal(await ready("long", { "exit-code": "1", "exit-after": "1m" }, {}), true);
    assert.equal(await ready("never", { "exit-code": "1", "exit-after": "2s" }, never), true);
    assert.equal(await ready("done", { "exit-after": "2s" }, { restartPolicy: "OnFailure" }), true);
    await run.stop();
  });
});
