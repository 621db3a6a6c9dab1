import assert from "node:assert/strict";
import { testAdmission } from "../../testing.ts";

const classes = "scheduling.k8s.io/v1/priorityclasses";

describe("Priority", () => {
  const create = async (spec: object) => {
    const test = await testAdmission("Priority");
    await test.post(classes, { metadata: { name: "high" }, value: 10, preemptionPolicy: "Never" });
    const object: any = { metadata: { name: "p" }, spec: { ...spec } };
    return { outcome: await test.admit("create v1/pods/ns", { object }), spec: object.spec };
  };

  it("sets value and policy of the class, or zero without a class", async () => {
    const { spec } = await create({ priorityClassName: "high" });
    assert.deepEqual([spec.priority, spec.preemptionPolicy], [10, "Never"]);
    const { spec: other } = await create({});
    assert.deepEqual([other.priority, other.preemptionPolicy], [0, "PreemptLowerPriority"]);
  });

  it("refuses an unknown class and a priority of the client's own", async () => {
    assert.equal(
      (await create({ priorityClassName: "no" })).outcome,
      '403 pods "p" is forbidden: no PriorityClass with name no was found',
    );
    assert.equal(
      (await create({ priorityClassName: "high", priority: 1 })).outcome,
      '403 pods "p" is forbidden: the integer value of priority (1) must not be provided in pod ' +
        "spec; priority admission controller computed 10 from the given PriorityClass name",
    );
  });

  it("preserves the priority that an update omits", async () => {
    const test = await testAdmission("Priority");
    const object: any = { metadata: {}, spec: {} };
    const old = { metadata: {}, spec: { priority: 7, preemptionPolicy: "Never" } };
    assert.equal(await test.admit("update v1/pods/ns/p", { object, old }), "accepted");
    assert.deepEqual(object.spec, { priority: 7, preemptionPolicy: "Never" });
  });

  it("refuses a second global default and the deletion of system classes", async () => {
    const test = await testAdmission("Priority");
    await test.post(classes, { metadata: { name: "usual" }, value: 1, globalDefault: true });
    const object = { metadata: { name: "x" }, value: 2, globalDefault: true };
    assert.equal(
      await test.admit(`create ${classes}`, { object }),
      '403 priorityclasses.scheduling.k8s.io "x" is forbidden: ' +
        "PriorityClass usual is already marked as default. Only one default can exist",
    );
    assert.equal(
      await test.admit(`delete ${classes}//system-node-critical`, { old: object }),
      '403 priorityclasses.scheduling.k8s.io "system-node-critical" is forbidden: ' +
        "this is a system priority class and cannot be deleted",
    );
  });
});
