import assert from "node:assert/strict";
import { testAdmission } from "../../testing.ts";

describe("PodTopologyLabels", () => {
  const zone = { "topology.kubernetes.io/zone": "z1" };
  const region = { "topology.kubernetes.io/region": "r1" };
  const start = async (gates: readonly string[] = ["PodTopologyLabelsAdmission"]) => {
    const test = await testAdmission("PodTopologyLabels", { gates });
    const labels = { ...zone, ...region, "topology.kubernetes.io/rack": "x", disk: "ssd" };
    await test.post("v1/nodes", { metadata: { name: "n", labels } });
    return test;
  };
  const binding = (target: object) => ({ metadata: { name: "p" } as any, target });
  const bind = "create v1/pods/ns/p/binding";

  it("copies zone and region of the node to a binding, over its own", async () => {
    const test = await start();
    const object = binding({ kind: "Node", name: "n" });
    object.metadata.labels = { "topology.kubernetes.io/zone": "own", a: "b" };
    assert.equal(await test.admit(bind, { object }), "accepted");
    assert.deepEqual({ ...object.metadata.labels }, { ...zone, ...region, a: "b" });
  });

  it("copies them to a pod that is created on a node", async () => {
    const test = await start();
    const object: any = { metadata: { name: "p" }, spec: { nodeName: "n" } };
    assert.equal(await test.admit("create v1/pods/ns", { object }), "accepted");
    assert.deepEqual({ ...object.metadata.labels }, { ...zone, ...region });
  });

  for (const [name, target] of [
    ["an absent node", { kind: "Node", name: "gone" }],
    ["another kind of target", { kind: "Minion", name: "n" }],
  ] as const) {
    it(`changes nothing for ${name}`, async () => {
      const test = await start();
      const object = binding(target);
      assert.equal(await test.admit(bind, { object }), "accepted");
      assert.deepEqual(object.metadata, { name: "p" });
    });
  }

  it("changes nothing while its feature gate is off", async () => {
    const test = await start([]);
    const object = binding({ kind: "Node", name: "n" });
    assert.equal(await test.admit(bind, { object }), "accepted");
    assert.deepEqual(object.metadata, { name: "p" });
  });
});
