import assert from "node:assert/strict";
import { refusal, type TestRegistry, testRegistry } from "../testing.ts";

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

describe("scale subresource", () => {
  const path = "apps/v1/deployments/ns/d";
  const scale = `${path}/scale`;
  let test: TestRegistry;
  beforeEach(async () => {
    test = await testRegistry();
    await test.post("apps/v1/deployments/ns", deployment);
  });

  it("returns the object as a Scale", async () => {
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

  it("checks preconditions and rejects invalid Scales", async () => {
    const { object } = await test.get(scale);
    await test.put(scale, { metadata: { name: "d" }, spec: { replicas: 3 } });
    const stale = test.put(scale, { ...object, spec: { replicas: 9 } });
    assert.match(await refusal(stale), /^409 Conflict .*deployments.apps "d"/);
    for (const write of [test.put, test.patch]) {
      const { resourceVersion, uid } = object.metadata;
      const other = { metadata: { name: "d", uid: `not-${uid}` }, spec: { replicas: 9 } };
      const refused = await refusal(write(scale, other));
      assert.match(refused, /^409 Conflict .*Precondition failed: UID in precondition: not-/);
      assert.equal(refused.includes("deployments/scale.apps"), write === test.patch, refused);
      const old = { metadata: { name: "d", resourceVersion }, spec: { replicas: 9 } };
      assert.match(await refusal(write(scale, old)), /^409 Conflict .*has been modified/);
    }
    const negative = test.put(scale, { metadata: { name: "d" }, spec: { replicas: -1 } });
    assert.match(await refusal(negative), /^422 Invalid Scale.autoscaling "d" is invalid/);
    const labels = { "a b": "c" };
    const labelled = test.put(scale, { metadata: { name: "d", labels }, spec: { replicas: 1 } });
    assert.match(await refusal(labelled), /^422 Invalid Scale.*: metadata.labels: Invalid value/);
    const missing = test.put("apps/v1/deployments/ns/e/scale", { metadata: { name: "e" } });
    assert.equal(await refusal(missing), '404 NotFound deployments.apps "e" not found');
    assert.equal((await test.get(path)).object.spec.replicas, 3);
  });
});
