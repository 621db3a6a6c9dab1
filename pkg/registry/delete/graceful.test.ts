import assert from "node:assert/strict";
import { collected, type TestRegistry, testRegistry } from "../testing.ts";

describe("graceful deletion", () => {
  let test: TestRegistry;
  const path = "v1/pods/ns/p";
  beforeEach(async () => {
    test = await testRegistry();
  });
  const make = (spec: object = {}, metadata: object = {}) =>
    test.post("v1/pods/ns", {
      metadata: { name: "p", ...metadata },
      spec: { nodeName: "n", containers: [{ name: "main", image: "a:1" }], ...spec },
    });
  const remove = async (gracePeriodSeconds?: number): Promise<any> => {
    const options = gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds };
    const answer = await test.remove(path, options);
    assert.ok("item" in answer);
    return answer.item.object.metadata;
  };
  const isThere = async () => (await test.names("v1/pods/ns")).includes("p");

  it("grants the pod's own time and marks when it ends", async () => {
    await make({ terminationGracePeriodSeconds: 40 });
    const { deletionTimestamp, deletionGracePeriodSeconds, generation } = await remove();
    assert.deepEqual([deletionGracePeriodSeconds, generation], [40, 2]);
    assert.equal(Date.parse(deletionTimestamp), test.clock.now() + 40_000);
    assert.equal(await isThere(), true);
  });

  it("only ever shortens, from the moment of the first deletion", async () => {
    await make();
    const first = await remove();
    test.clock.advance(5_000);
    assert.deepEqual(await remove(), first);
    assert.deepEqual(await remove(60), first);
    const { deletionTimestamp, deletionGracePeriodSeconds, generation } = await remove(10);
    assert.deepEqual([deletionGracePeriodSeconds, generation], [10, 2]);
    assert.equal(Date.parse(deletionTimestamp), Date.parse(first.deletionTimestamp) - 20_000);
    await remove(0);
    assert.equal(await isThere(), false);
  });

  it("deletes unscheduled pods at once", async () => {
    await make({ nodeName: "" });
    const { deletionGracePeriodSeconds, deletionTimestamp } = await remove(30);
    assert.deepEqual([deletionGracePeriodSeconds, Boolean(deletionTimestamp)], [0, true]);
    assert.equal(await isThere(), false);
  });

  it("waits for finalizers, too, and goes with the last when the time is up", async () => {
    await make({}, { finalizers: ["example.com/hold"] });
    await remove(0);
    assert.equal(await isThere(), true);
    await test.patch(path, { metadata: { finalizers: null } });
    assert.equal(await isThere(), false);
    await make({}, { finalizers: ["example.com/hold"] });
    await remove();
    await test.patch(path, { metadata: { finalizers: null } });
    assert.equal(await isThere(), true);
  });

  it("counts less than nothing as a second", async () => {
    await make();
    assert.equal((await remove(-5)).deletionGracePeriodSeconds, 1);
  });

  it("changes nothing in a dry run", async () => {
    await make();
    const { item } = (await test.remove(path, { dryRun: true })) as any;
    assert.equal(item.object.metadata.deletionGracePeriodSeconds, 30);
    const [{ object }] = (await collected((await test.list("v1/pods/ns")).items)) as [any];
    assert.equal(object.metadata.deletionTimestamp, undefined);
  });
});
