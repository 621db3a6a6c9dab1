import assert from "node:assert/strict";
import type { StatusError } from "#meta";
import { refusal, type TestRegistry, testRegistry } from "../testing.ts";

const pod = (name: string, spec: object = {}, metadata: object = {}) => ({
  metadata: { name, ...metadata },
  spec: { containers: [{ name: "main", image: "a:1" }], ...spec },
});

describe("eviction subresource", () => {
  let test: TestRegistry;
  beforeEach(async () => {
    test = await testRegistry();
  });
  const labels = { app: "a" };
  const running = async (name: string, ready = "True") => {
    await test.post("v1/pods/ns", pod(name, { nodeName: "n" }, { labels }));
    const conditions = [{ type: "Ready", status: ready }];
    const status = { phase: "Running", conditions };
    await test.patch(`v1/pods/ns/${name}/status`, { status });
  };
  const budget = async (allowed: number, status: object = {}) => {
    const spec = { minAvailable: 1, selector: { matchLabels: labels } };
    await test.post("policy/v1/poddisruptionbudgets/ns", { metadata: { name: "b" }, spec });
    const counts = { currentHealthy: 2, desiredHealthy: 2, expectedPods: 2 };
    await test.patch("policy/v1/poddisruptionbudgets/ns/b/status", {
      status: { observedGeneration: 1, disruptionsAllowed: allowed, ...counts, ...status },
    });
  };
  const evict = (name: string, more: object = {}) =>
    test.post(`v1/pods/ns/${name}/eviction`, { metadata: { name }, ...more });
  const isTerminating = async (name: string): Promise<boolean> =>
    Boolean((await test.get(`v1/pods/ns/${name}`)).object.metadata.deletionTimestamp);

  it("deletes a pod without a budget, with the requested grace period", async () => {
    await running("p");
    await evict("p", { deleteOptions: { gracePeriodSeconds: 7 } });
    const { metadata, status } = (await test.get("v1/pods/ns/p")).object;
    assert.equal(metadata.deletionGracePeriodSeconds, 7);
    assert.equal(status.conditions.at(-1).reason, "EvictionByEvictionAPI");
  });

  it("allows no more disruptions than the budget", async () => {
    const names = ["p1", "p2", "p3", "p4", "p5"];
    for (const name of names) await running(name);
    await budget(2);
    const outcomes = await Promise.all(names.map((name) => refusal(evict(name))));
    assert.equal(outcomes.filter((outcome) => outcome === "accepted").length, 2);
    const rejections = outcomes.filter((outcome) => outcome !== "accepted");
    for (const rejection of rejections)
      assert.match(rejection, /^429 TooManyRequests Cannot evict pod/);
    const { status } = (await test.get("policy/v1/poddisruptionbudgets/ns/b")).object;
    assert.equal(status.disruptionsAllowed, 0);
    assert.equal(Object.keys(status.disruptedPods).length, 2);
    assert.equal(status.conditions[0].reason, "InsufficientPods");
    const terminating = await Promise.all(names.map(isTerminating));
    assert.equal(terminating.filter(Boolean).length, 2);
  });

  it("rejects while the budget is not observed, and with two budgets", async () => {
    await running("p");
    await budget(1, { observedGeneration: 0 });
    assert.match(await refusal(evict("p")), /^429/);
    const spec = { maxUnavailable: 1, selector: {} };
    await test.post("policy/v1/poddisruptionbudgets/ns", { metadata: { name: "all" }, spec });
    assert.match(await refusal(evict("p")), /^500 - This pod has more than one/);
    assert.equal(await isTerminating("p"), false);
  });

  it("evicts unhealthy pods if there are enough healthy ones", async () => {
    await running("sick", "False");
    await budget(0);
    await evict("sick");
    assert.equal(await isTerminating("sick"), true);
    await running("sick2", "False");
    await test.patch("policy/v1/poddisruptionbudgets/ns/b/status", {
      status: { currentHealthy: 1 },
    });
    assert.match(await refusal(evict("sick2")), /^429/);
  });

  it("rejects invalid deleteOptions and keeps the pod", async () => {
    await running("p");
    const invalid = '422 Invalid DeleteOptions.meta.k8s.io "" is invalid';
    const ignoring = "ignoreStoreReadErrorWithClusterBreakingPotential";
    const rows: readonly (readonly [object, string])[] = [
      [{ dryRun: ["Some"] }, `${invalid}: dryRun: Unsupported value: ["Some"]`],
      [{ dryRun: ["All", "x"] }, `${invalid}: dryRun: Unsupported value: ["All","x"]`],
      [{ propagationPolicy: "x" }, `${invalid}: propagationPolicy: Unsupported value: "x"`],
      [
        { propagationPolicy: "Orphan", orphanDependents: true },
        `${invalid}: propagationPolicy: Invalid value: "Orphan": orphanDependents and`,
      ],
      [{ [ignoring]: true }, `Eviction.policy "p" is invalid: deleteOptions.${ignoring}: Inv`],
      [{ preconditions: { uid: "x" } }, "the UID in the precondition (x) does not match"],
      [{ preconditions: { resourceVersion: "1" } }, "the ResourceVersion in the precondition (1)"],
    ];
    for (const [deleteOptions, reason] of rows) {
      const rejection = await refusal(evict("p", { deleteOptions }));
      assert.ok(rejection.includes(reason), rejection);
    }
    const twice = { deleteOptions: { dryRun: ["All", "All"] } };
    const eviction = test.post(
      "v1/pods/ns/p/eviction",
      { metadata: { name: "p" }, ...twice },
      { dryRun: true },
    );
    assert.match(await refusal(eviction), /^500 .*Non-matching dry-run.*: \[All\] and \[All All\]/);
    const { metadata, status } = (await test.get("v1/pods/ns/p")).object;
    assert.equal(metadata.deletionTimestamp, undefined);
    assert.deepEqual(
      status.conditions.map((each: any) => each.type),
      ["Ready"],
    );
  });

  it("knows apiVersion and kind of deleteOptions, and warns of unknown fields on failure", async () => {
    await running("p");
    const known = { kind: "DeleteOptions", apiVersion: "v1", dryRun: ["All"] };
    assert.deepEqual((await evict("p", { deleteOptions: known })).warnings, []);
    const unknown = { preconditions: { uid: "x" }, kind: "DeleteOptions", color: "blue" };
    await assert.rejects(evict("p", { deleteOptions: unknown }), (error: StatusError) => {
      assert.equal(error.status.code, 409);
      assert.deepEqual(error.warnings, ['unknown field "deleteOptions.color"']);
      return true;
    });
    const numeric = { kind: 5, dryRun: ["All"] };
    assert.match(
      await refusal(evict("p", { deleteOptions: numeric })),
      /cannot unmarshal number into Go struct field DeleteOptions\.deleteOptions\.kind of type string/,
    );
  });

  it("checks the resourceVersion precondition of a pod that has not started", async () => {
    await test.post("v1/pods/ns", pod("new", { nodeName: "n" }));
    const stale = { preconditions: { resourceVersion: "1" } };
    assert.match(await refusal(evict("new", { deleteOptions: stale })), /^409 Conflict/);
    assert.equal(await isTerminating("new"), false);
  });

  it("replaces a negative grace period by one second", async () => {
    await running("p");
    await evict("p", { deleteOptions: { gracePeriodSeconds: -5 } });
    assert.equal((await test.get("v1/pods/ns/p")).object.metadata.deletionGracePeriodSeconds, 1);
  });

  it("changes nothing in a dry run", async () => {
    await running("p");
    await budget(1);
    await evict("p", { deleteOptions: { dryRun: ["All"] } });
    await test.post("v1/pods/ns/p/eviction", { metadata: { name: "p" } }, { dryRun: true });
    const { status } = (await test.get("policy/v1/poddisruptionbudgets/ns/b")).object;
    assert.equal(status.disruptionsAllowed, 1);
    assert.equal(await isTerminating("p"), false);
  });
});
