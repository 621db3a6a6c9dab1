import assert from "node:assert/strict";
import { collected, type TestRegistry, testRegistry } from "../testing.ts";

describe("graceful deletion", () => {
  let test: TestRegistry;
  const path = "v1/pods/ns/p";
  beforeEach(async () => {
    test = await testRegistry();
  });
  const create = (spec: object = {}, metadata: object = {}) =>
    test.post("v1/pods/ns", {
      metadata: { name: "p", ...metadata },
      spec: { nodeName: "n", containers: [{ name: "main", image: "a:1" }], ...spec },
    });
  const remove = async (gracePeriodSeconds?: number): Promise<any> => {
    const options = gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds };
    const response = await test.remove(path, options);
    assert.ok("item" in response);
    return response.item.object.metadata;
  };
  const exists = async () => (await test.names("v1/pods/ns")).includes("p");

  it("sets terminationGracePeriodSeconds and the time at which it ends", async () => {
    await create({ terminationGracePeriodSeconds: 40 });
    const { deletionTimestamp, deletionGracePeriodSeconds, generation } = await remove();
    assert.deepEqual([deletionGracePeriodSeconds, generation], [40, 2]);
    assert.equal(Date.parse(deletionTimestamp), test.clock.now() + 40_000);
    assert.equal(await exists(), true);
  });

  it("only shortens the grace period, counted from the first deletion", async () => {
    await create();
    const first = await remove();
    test.clock.advance(5_000);
    assert.deepEqual(await remove(), first);
    assert.deepEqual(await remove(60), first);
    const { deletionTimestamp, deletionGracePeriodSeconds, generation } = await remove(10);
    assert.deepEqual([deletionGracePeriodSeconds, generation], [10, 2]);
    assert.equal(Date.parse(deletionTimestamp), Date.parse(first.deletionTimestamp) - 20_000);
    await remove(0);
    assert.equal(await exists(), false);
  });

  it("deletes unscheduled pods immediately", async () => {
    await create({ nodeName: "" });
    const { deletionGracePeriodSeconds, deletionTimestamp } = await remove(30);
    assert.deepEqual([deletionGracePeriodSeconds, Boolean(deletionTimestamp)], [0, true]);
    assert.equal(await exists(), false);
  });

  it("keeps the pod until finalizers are removed and the grace period is zero", async () => {
    await create({}, { finalizers: ["example.com/hold"] });
    await remove(0);
    assert.equal(await exists(), true);
    await test.patch(path, { metadata: { finalizers: null } });
    assert.equal(await exists(), false);
    await create({}, { finalizers: ["example.com/hold"] });
    await remove();
    await test.patch(path, { metadata: { finalizers: null } });
    assert.equal(await exists(), true);
  });

  it("treats a negative grace period as one second", async () => {
    await create();
    assert.equal((await remove(-5)).deletionGracePeriodSeconds, 1);
  });

  it("stores nothing in a dry run", async () => {
    await create();
    const { item } = (await test.remove(path, { dryRun: true })) as any;
    assert.equal(item.object.metadata.deletionGracePeriodSeconds, 30);
    const [{ object }] = (await collected((await test.list("v1/pods/ns")).items)) as [any];
    assert.equal(object.metadata.deletionTimestamp, undefined);
  });
});
