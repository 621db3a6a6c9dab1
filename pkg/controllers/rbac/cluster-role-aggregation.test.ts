import assert from "node:assert/strict";
import { setMaxListeners } from "node:events";
import { systemClock } from "#base";
import { type TestRegistry, testRegistry } from "../../registry/testing.ts";
import { contextOn, startController } from "../testing.ts";
import { runClusterRoleAggregation } from "./cluster-role-aggregation.ts";

const group = "rbac.authorization.k8s.io/v1";
const rule = (resource: string) => ({ apiGroups: [""], resources: [resource], verbs: ["get"] });
const part = (name: string, resources: readonly string[], label: string) => ({
  metadata: { name, labels: { [label]: "true" } },
  rules: resources.map(rule),
});
const whole = (name: string, ...labels: readonly string[]) => ({
  metadata: { name },
  aggregationRule: {
    clusterRoleSelectors: labels.map((label) => ({ matchLabels: { [label]: "true" } })),
  },
});

describe("ClusterRole aggregation", () => {
  let test: TestRegistry;
  let life: AbortController;
  let replicas: Promise<unknown>;
  const troubles: string[] = [];

  beforeEach(async () => {
    test = await testRegistry();
    life = new AbortController();
    setMaxListeners(0, life.signal);
    const { registry, catalog } = test;
    const { signal } = life;
    const report = (what: string, error: unknown) => troubles.push(`${what}: ${String(error)}`);
    const parts = { registry, catalog, clock: systemClock, signal, report };
    await post(part("b", ["pods", "nodes"], "one"));
    await post(part("a", ["nodes"], "one"));
    await post(whole("sum", "one", "two"));
    replicas = Promise.all([1, 2, 3].map(() => runClusterRoleAggregation(contextOn(parts))));
  });
  afterEach(async () => {
    life.abort();
    await replicas;
    assert.deepEqual(troubles, []);
  });

  const post = (object: object) => test.post(`${group}/clusterroles`, object);
  const path = (name: string) => `${group}/clusterroles//${name}`;

  /** Waits until a role has the rules for these resources, in this order. */
  async function settles(name: string, expected: string): Promise<any> {
    for (let attempt = 0; ; attempt++) {
      const { object } = await test.get(path(name));
      const shown = (object.rules ?? []).map(({ resources }: any) => resources[0]).join(" ");
      if (shown === expected) return object;
      if (attempt > 200) assert.equal(shown, expected);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  it("combines the rules of selected roles by name, without duplicates", async () => {
    const { metadata } = await settles("sum", "nodes pods");
    const [{ manager, operation }] = metadata.managedFields;
    assert.deepEqual([manager, operation], ["clusterrole-aggregation-controller", "Apply"]);
  });

  it("follows created, changed and deleted roles, through nested aggregation", async () => {
    await post(whole("all", "part-of-all"));
    await settles("sum", "nodes pods");
    await test.patch(path("sum"), { metadata: { labels: { "part-of-all": "true" } } });
    await settles("all", "nodes pods");
    await post(part("c", ["secrets"], "two"));
    await settles("all", "nodes pods secrets");
    await test.patch(path("b"), { metadata: { labels: null } });
    await settles("all", "nodes secrets");
    await test.remove(path("c"));
    await settles("all", "nodes");
  });

  it("reverts manual changes of an aggregated ClusterRole", async () => {
    await settles("sum", "nodes pods");
    await test.patch(path("sum"), { rules: [rule("everything")] });
    await settles("sum", "nodes pods");
  });

  it("writes once with any number of replicas", async () => {
    const { metadata } = await settles("sum", "nodes pods");
    await post(part("d", ["nodes"], "one"));
    await post(part("e", ["leases"], "two"));
    await settles("sum", "nodes pods leases");
    const first = Number(metadata.resourceVersion);
    const { metadata: later } = (await test.get(path("sum"))).object;
    // "d", "e", and one change of the sum.
    assert.equal(Number(later.resourceVersion) - first, 3);
  });

  it("does not recreate a deleted aggregated role", async () => {
    await settles("sum", "nodes pods");
    await test.remove(path("sum"));
    await post(part("f", ["events"], "one"));
    await post(whole("next", "one"));
    await settles("next", "nodes pods events");
    assert.deepEqual(await test.names(`${group}/clusterroles`), ["a", "b", "f", "next"]);
  });
});

describe("ClusterRole aggregation with failing requests", () => {
  it("retries a failed apply", async () => {
    const run = await startController(runClusterRoleAggregation);
    run.failNext("patch", "clusterroles", 2);
    await run.test.post(`${group}/clusterroles`, part("a", ["nodes"], "one"));
    await run.test.post(`${group}/clusterroles`, whole("sum", "one"));
    await run.until(async () => {
      const { rules } = (await run.test.get(`${group}/clusterroles//sum`)).object;
      return rules?.[0]?.resources[0] === "nodes";
    });
    assert.ok(run.calls("patch", "clusterroles") >= 3);
    await run.stop();
  });
});
