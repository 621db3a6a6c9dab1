import assert from "node:assert/strict";
import { refusal, type TestRegistry, testRegistry } from "../testing.ts";

const pod = (name: string, spec: object = {}, metadata: object = {}) => ({
  metadata: { name, ...metadata },
  spec: { containers: [{ name: "main", image: "a:1" }], ...spec },
});

const deployment = {
  metadata: { name: "d" },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: "d" } },
    template: {
      metadata: { labels: { app: "d" } },
      spec: { containers: [{ name: "main", image: "a:1" }] },
    },
  },
};

describe("subresources: scale", () => {
  const path = "apps/v1/deployments/ns/d";
  const scale = `${path}/scale`;
  let test: TestRegistry;
  beforeEach(async () => {
    test = await testRegistry();
    await test.post("apps/v1/deployments/ns", deployment);
  });

  it("shows the object as a Scale", async () => {
    const item = await test.get(scale);
    const { metadata, spec, status } = item.object;
    assert.equal(item.resource.kind.kind, "Scale");
    assert.deepEqual([spec, status], [{ replicas: 2 }, { replicas: 0, selector: "app=d" }]);
    const { object } = await test.get(path);
    assert.equal(metadata.resourceVersion, object.metadata.resourceVersion);
    assert.equal(metadata.uid, object.metadata.uid);
  });

  it("changes the number of replicas and nothing else", async () => {
    const labels = { metadata: { name: "d", labels: { x: "1" } }, spec: { replicas: 5 } };
    const { item } = await test.put(scale, labels);
    assert.deepEqual(item.object.spec, { replicas: 5 });
    const { object } = await test.get(path);
    assert.equal(object.spec.replicas, 5);
    assert.equal(object.metadata.labels, undefined);
    assert.equal(object.metadata.generation, 2);
    await test.patch(scale, { spec: { replicas: null } });
    assert.equal((await test.get(path)).object.spec.replicas, 0);
  });

  it("obeys locks and refuses what no Scale can be", async () => {
    const { object } = await test.get(scale);
    await test.put(scale, { metadata: { name: "d" }, spec: { replicas: 3 } });
    const stale = test.put(scale, { ...object, spec: { replicas: 9 } });
    assert.match(await refusal(stale), /^409 Conflict .*deployments.apps "d"/);
    const negative = test.put(scale, { metadata: { name: "d" }, spec: { replicas: -1 } });
    assert.match(await refusal(negative), /^422 Invalid Scale.autoscaling "d" is invalid/);
    const missing = test.put("apps/v1/deployments/ns/e/scale", { metadata: { name: "e" } });
    assert.equal(await refusal(missing), '404 NotFound deployments.apps "e" not found');
    assert.equal((await test.get(path)).object.spec.replicas, 3);
  });
});

describe("subresources: binding", () => {
  let test: TestRegistry;
  beforeEach(async () => {
    test = await testRegistry();
    await test.post("v1/pods/ns", pod("p"));
  });
  const bind = (name: string, more: object = {}) =>
    test.post(`v1/pods/ns/${name}/binding`, {
      metadata: { name, ...more },
      target: { name: "node-1" },
    });

  it("assigns a pod once, whoever asks", async () => {
    const { item } = await bind("p", { annotations: { why: "fits" }, labels: { no: "no" } });
    assert.equal(item.object.status, "Success");
    const { metadata, spec, status } = (await test.get("v1/pods/ns/p")).object;
    assert.deepEqual(
      [spec.nodeName, metadata.annotations, metadata.labels],
      ["node-1", { why: "fits" }, undefined],
    );
    assert.deepEqual(
      status.conditions.map(({ type, status: value }: any) => [type, value]),
      [["PodScheduled", "True"]],
    );
    assert.match(await refusal(bind("p")), /^409 .*pod p is already assigned to node "node-1"/);
  });

  it("assigns nothing in a dry run, by another name, or of another pod", async () => {
    const body = { metadata: { name: "p" }, target: { name: "n" } };
    await test.post("v1/pods/ns/p/binding", body, { dryRun: true });
    assert.equal((await test.get("v1/pods/ns/p")).object.spec.nodeName, undefined);
    const other = test.post("v1/pods/ns/q/binding", body);
    assert.match(await refusal(other), /^400 .*name in URL does not match/);
    assert.match(await refusal(bind("p", { uid: "other" })), /^409 .*UID in precondition: other/);
    const nowhere = test.post("v1/bindings/ns", { metadata: { name: "p" } });
    assert.equal(await refusal(nowhere), "500 - target.name: Required value");
  });

  it("lets one of many schedulers win", async () => {
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        refusal(
          test.post("v1/bindings/ns", { metadata: { name: "p" }, target: { name: `n${n}` } }),
        ),
      ),
    );
    assert.equal(outcomes.filter((outcome) => outcome === "accepted").length, 1);
  });
});

describe("subresources: eviction", () => {
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
  const isGoing = async (name: string): Promise<boolean> =>
    Boolean((await test.get(`v1/pods/ns/${name}`)).object.metadata.deletionTimestamp);

  it("deletes a pod without a budget, with the grace asked for", async () => {
    await running("p");
    await evict("p", { deleteOptions: { gracePeriodSeconds: 7 } });
    const { metadata, status } = (await test.get("v1/pods/ns/p")).object;
    assert.equal(metadata.deletionGracePeriodSeconds, 7);
    assert.equal(status.conditions.at(-1).reason, "EvictionByEvictionAPI");
  });

  it("takes from the budget, never more than it has", async () => {
    const names = ["p1", "p2", "p3", "p4", "p5"];
    for (const name of names) await running(name);
    await budget(2);
    const outcomes = await Promise.all(names.map((name) => refusal(evict(name))));
    assert.equal(outcomes.filter((outcome) => outcome === "accepted").length, 2);
    const refused = outcomes.filter((outcome) => outcome !== "accepted");
    for (const each of refused) assert.match(each, /^429 TooManyRequests Cannot evict pod/);
    const { status } = (await test.get("policy/v1/poddisruptionbudgets/ns/b")).object;
    assert.equal(status.disruptionsAllowed, 0);
    assert.equal(Object.keys(status.disruptedPods).length, 2);
    assert.equal(status.conditions[0].reason, "InsufficientPods");
    const going = await Promise.all(names.map(isGoing));
    assert.equal(going.filter(Boolean).length, 2);
  });

  it("refuses while the budget is not observed, and with two of them", async () => {
    await running("p");
    await budget(1, { observedGeneration: 0 });
    assert.match(await refusal(evict("p")), /^429/);
    const spec = { maxUnavailable: 1, selector: {} };
    await test.post("policy/v1/poddisruptionbudgets/ns", { metadata: { name: "all" }, spec });
    assert.match(await refusal(evict("p")), /^500 - This pod has more than one/);
    assert.equal(await isGoing("p"), false);
  });

  it("lets unhealthy pods go where the healthy ones suffice", async () => {
    await running("sick", "False");
    await budget(0);
    await evict("sick");
    assert.equal(await isGoing("sick"), true);
    await running("sick2", "False");
    await test.patch("policy/v1/poddisruptionbudgets/ns/b/status", {
      status: { currentHealthy: 1 },
    });
    assert.match(await refusal(evict("sick2")), /^429/);
  });

  it("changes nothing in a dry run", async () => {
    await running("p");
    await budget(1);
    await evict("p", { deleteOptions: { dryRun: ["All"] } });
    await test.post("v1/pods/ns/p/eviction", { metadata: { name: "p" } }, { dryRun: true });
    const { status } = (await test.get("policy/v1/poddisruptionbudgets/ns/b")).object;
    assert.equal(status.disruptionsAllowed, 1);
    assert.equal(await isGoing("p"), false);
  });
});

describe("subresources: component statuses", () => {
  it("are made up on every read, and cannot be watched", async () => {
    const test = await testRegistry();
    const path = "v1/componentstatuses";
    assert.deepEqual(await test.names(path), ["controller-manager", "etcd-0", "scheduler"]);
    const [health] = (await test.get(`${path}//etcd-0`)).object.conditions;
    assert.deepEqual(health, { type: "Healthy", status: "True", message: "ok" });
    const { metadata } = (await test.get(`${path}//etcd-0`)).object;
    assert.equal(metadata.resourceVersion, undefined);
    const missing = test.get(`${path}//x`);
    assert.equal(await refusal(missing), '404 NotFound componentstatus "x" not found');
    const watched = () => test.watch(path);
    assert.match(await refusal(watched), /^405 .*watch is not supported/);
  });
});
