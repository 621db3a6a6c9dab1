/** Evictions by NoExecute taints. */
import assert from "node:assert/strict";
import { type TestRegistry, testRegistry } from "../../registry/testing.ts";
import { type ControllerTest, crashAfterEveryWrite, startController } from "../testing.ts";
import { runTaintEvictionController } from "./taint-eviction-controller.ts";
import { eventsOf, makeNode, makePod, passInSteps } from "./testing.ts";

const taint = { key: "broken", value: "disk", effect: "NoExecute" };
const tolerating = (tolerationSeconds?: number) => ({
  tolerations: [
    {
      key: "broken",
      operator: "Exists",
      effect: "NoExecute",
      ...(tolerationSeconds === undefined ? {} : { tolerationSeconds }),
    },
  ],
});

const setTaints = (test: TestRegistry, taints: readonly object[]) =>
  test.patch("v1/nodes//a", { spec: { taints: taints.length === 0 ? null : taints } });

const podOf = async (test: TestRegistry, name: string): Promise<any> =>
  (await test.get(`v1/pods/ns/${name}`)).object;
const isDeleted = async (test: TestRegistry, name: string) =>
  (await podOf(test, name)).metadata.deletionTimestamp !== undefined;

describe("taint-eviction-controller", () => {
  let test: TestRegistry;
  let run: ControllerTest;
  beforeEach(async () => {
    test = await testRegistry();
    await makeNode(test, "a");
    run = await startController(runTaintEvictionController, { test, clock: test.clock });
  });
  afterEach(() => run.stop());

  it("deletes pods that do not tolerate the taint, immediately or after tolerationSeconds", async () => {
    await makePod(test, "none", "a");
    await makePod(test, "short", "a", tolerating(10));
    await makePod(test, "forever", "a", tolerating());
    await makePod(test, "other", "b");
    await passInSteps(test, 1_000);
    await setTaints(test, [taint, { key: "soft", effect: "NoSchedule" }]);
    await passInSteps(test, 1_000);
    assert.ok(await isDeleted(test, "none"));
    assert.equal(await isDeleted(test, "short"), false);
    await passInSteps(test, 10_000);
    assert.ok(await isDeleted(test, "short"));
    assert.equal(await isDeleted(test, "forever"), false);
    assert.equal(await isDeleted(test, "other"), false);
    const { conditions } = (await podOf(test, "short")).status;
    const target = conditions.find(({ type }: any) => type === "DisruptionTarget");
    assert.deepEqual(
      [target.status, target.reason, target.message],
      ["True", "DeletionByTaintManager", "Taint manager: deleting due to NoExecute taint"],
    );
    assert.deepEqual(await eventsOf(test, "ns", "short"), [
      "Normal TaintManagerEviction: Marking for deletion Pod ns/short",
    ]);
  });

  it("cancels an eviction when the taint is removed in time", async () => {
    await makePod(test, "short", "a", tolerating(10));
    await setTaints(test, [taint]);
    await passInSteps(test, 5_000);
    await setTaints(test, []);
    await passInSteps(test, 10_000);
    assert.equal(await isDeleted(test, "short"), false);
    assert.deepEqual(await eventsOf(test, "ns", "short"), [
      "Normal TaintManagerEviction: Cancelling deletion of Pod ns/short",
    ]);
  });

  it("keeps the eviction time of a pod whose node gets another tolerated taint", async () => {
    await makePod(test, "short", "a", {
      tolerations: [{ operator: "Exists", effect: "NoExecute", tolerationSeconds: 10 }],
    });
    await setTaints(test, [taint]);
    await passInSteps(test, 6_000);
    await setTaints(test, [taint, { key: "more", effect: "NoExecute" }]);
    await passInSteps(test, 5_000);
    assert.ok(await isDeleted(test, "short"));
  });

  it("evicts pods that are bound to a tainted node, even after failures", async () => {
    await setTaints(test, [taint]);
    run.failNext("delete", "pods", 2);
    await makePod(test, "late", "a");
    await run.until(async () => {
      await passInSteps(test, 1_000);
      return isDeleted(test, "late");
    });
  });

  it("reaches the same state after a crash at any write", async () => {
    const crashes = await crashAfterEveryWrite({
      controllers: [runTaintEvictionController],
      play: async ({ test, until }) => {
        await makeNode(test, "a");
        await makePod(test, "none", "a");
        await makePod(test, "short", "a", tolerating(3));
        await makePod(test, "forever", "a", tolerating());
        await setTaints(test, [taint]);
        await until(
          async () => (await isDeleted(test, "none")) && (await isDeleted(test, "short")),
        );
      },
      endState: async (test) => {
        const names = ["none", "short", "forever"];
        const pods = await Promise.all(names.map((name) => podOf(test, name)));
        return pods.map(({ metadata, status }) => [
          metadata.deletionTimestamp !== undefined,
          status.conditions.map(({ type }: any) => type),
        ]);
      },
    });
    assert.equal(crashes, 4);
  });
});
