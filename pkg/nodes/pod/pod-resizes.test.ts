import assert from "node:assert/strict";
import type { Pod, PodCondition } from "#kinds";
import { type NodesTest, startNodes } from "../testing.ts";

const app = (cpu: string, more: object = {}) => ({
  name: "app",
  image: "nginx",
  resources: { requests: { cpu }, limits: { cpu: "8", memory: "1Gi" } },
  ...more,
});

describe("resizes of pods", () => {
  let run: NodesTest;
  beforeEach(async () => {
    run = await startNodes({ capacity: { cpu: "4", memory: "8Gi", pods: "10" } });
  });
  afterEach(async () => {
    await run.stop();
    assert.deepEqual(run.reports, []);
  });

  const resize = async (name: string, cpu: string) => {
    const containers = [{ name: "app", resources: { requests: { cpu } } }];
    const options = { patchType: "strategic" } as const;
    await run.test.patch(`v1/pods/ns/${name}/resize`, { spec: { containers } }, options);
    await run.pass(0);
  };
  const condition = async (name: string, type: string): Promise<PodCondition | undefined> =>
    (await run.pod(name)).status?.conditions?.find((each) => each.type === type);
  const events = async (): Promise<{ reason: string; message: string }[]> => {
    const names = await run.test.names("v1/events/ns");
    const items = await Promise.all(names.map((name) => run.test.get(`v1/events/ns/${name}`)));
    return items.map(({ object }) => object);
  };
  const statusOf = ({ status }: Pod) => status?.containerStatuses?.[0];

  it("change the allocation, and record completion", async () => {
    await run.createPod("p", { spec: { containers: [app("1")] } });
    await resize("p", "2");
    const pod = await run.pod("p");
    const status = statusOf(pod);
    assert.equal(status?.resources?.requests?.["cpu"], "2");
    assert.equal(status?.restartCount, 0);
    assert.equal(await condition("p", "PodResizeInProgress"), undefined);
    const event = (await events()).find(({ reason }) => reason === "ResizeCompleted");
    assert.equal(
      event?.message,
      'Pod resize completed: {"containers":[{"name":"app","resources":{"limits":' +
        '{"cpu":"8","memory":"1Gi"},"requests":{"cpu":"2","memory":"1Gi"}}}]}',
    );
  });

  it("are in progress with the old resources until the node applies them", async () => {
    const { metadata } = await run.createPod("p", { spec: { containers: [app("1")] } });
    const { resourceVersion } = metadata;
    const watched = run.test.watch("v1/pods/ns", { resourceVersion });
    await resize("p", "2");
    for await (const event of watched) {
      if (!("item" in event)) continue;
      const { status } = event.item.object as Pod;
      const found = status?.conditions?.find(({ type }) => type === "PodResizeInProgress");
      if (found === undefined) continue;
      assert.equal(found.observedGeneration, 2);
      assert.equal(status?.containerStatuses?.[0]?.resources?.requests?.["cpu"], "1");
      break;
    }
  });

  it("restart containers with resize policy RestartContainer", async () => {
    const resizePolicy = [{ resourceName: "cpu", restartPolicy: "RestartContainer" }];
    await run.createPod("p", { spec: { containers: [app("1", { resizePolicy })] } });
    await resize("p", "2");
    const status = statusOf(await run.pod("p"));
    assert.deepEqual([status?.restartCount, status?.state?.running !== undefined], [1, true]);
    assert.equal(status?.lastState?.terminated?.exitCode, 143);
  });

  it("are infeasible beyond the size of the node", async () => {
    const { metadata } = await run.createPod("p", { spec: { containers: [app("1")] } });
    await resize("p", "5");
    const pending = await condition("p", "PodResizePending");
    assert.deepEqual(
      [pending?.reason, pending?.message, pending?.observedGeneration],
      [
        "Infeasible",
        "Node didn't have enough capacity: cpu, requested: 5000, capacity: 4000",
        Number(metadata.generation) + 1,
      ],
    );
    assert.equal(statusOf(await run.pod("p"))?.resources?.requests?.["cpu"], "1");
    await resize("p", "1");
    assert.equal(await condition("p", "PodResizePending"), undefined);
  });

  it("are deferred until another pod makes room, higher priorities first", async () => {
    for (const name of ["low", "high"]) {
      const priority = name === "high" ? 10 : 0;
      await run.createPod(name, { spec: { priority, containers: [app("1")] } });
    }
    await run.createPod("other", { spec: { containers: [app("2")] } });
    await resize("low", "2");
    await resize("high", "2");
    const pending = await condition("high", "PodResizePending");
    assert.deepEqual(
      [pending?.reason, pending?.message],
      [
        "Deferred",
        "Node didn't have enough resource: cpu, requested: 2000, used: 3000, capacity: 4000",
      ],
    );
    await run.test.remove("v1/pods/ns/other");
    await run.pass(2_000);
    assert.equal(await condition("high", "PodResizePending"), undefined);
    assert.equal(statusOf(await run.pod("high"))?.resources?.requests?.["cpu"], "2");
  });

  it("survive a restart of the node", async () => {
    await run.createPod("p", { spec: { containers: [app("1")] } });
    await resize("p", "5");
    const before = await run.pod("p");
    await run.stop();
    run = await startNodes({ capacity: { cpu: "4", memory: "8Gi", pods: "10" } }, run.test);
    await run.pass(2_000);
    assert.deepEqual((await run.pod("p")).status, before.status);
  });
});
