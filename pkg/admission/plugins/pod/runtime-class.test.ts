import assert from "node:assert/strict";
import { testAdmission } from "../../testing.ts";

describe("RuntimeClass", () => {
  const start = async () => {
    const test = await testAdmission("RuntimeClass");
    await test.post("node.k8s.io/v1/runtimeclasses", {
      metadata: { name: "vm" },
      handler: "vm",
      overhead: { podFixed: { cpu: "250m" } },
      scheduling: { nodeSelector: { vm: "yes" } },
    });
    return test;
  };
  const pod = (spec: object) => ({ metadata: { name: "p" }, spec: spec as any });

  it("sets overhead and node selector of the class", async () => {
    const test = await start();
    const object = pod({ runtimeClassName: "vm" });
    assert.equal(await test.admit("create v1/pods/ns", { object }), "accepted");
    assert.deepEqual({ ...object.spec.overhead }, { cpu: "250m" });
    assert.deepEqual({ ...object.spec.nodeSelector }, { vm: "yes" });
  });

  it("refuses an unknown class, a conflicting selector, and an overhead without a class", async () => {
    const test = await start();
    const create = (spec: object) => test.admit("create v1/pods/ns", { object: pod(spec) });
    const forbidden = '403 pods "p" is forbidden: ';
    assert.equal(
      await create({ runtimeClassName: "no" }),
      `${forbidden}pod rejected: RuntimeClass "no" not found`,
    );
    assert.equal(
      await create({ runtimeClassName: "vm", nodeSelector: { vm: "no" } }),
      `${forbidden}conflict: runtimeClass.scheduling.nodeSelector[vm] = yes; ` +
        "pod.spec.nodeSelector[vm] = no",
    );
    assert.equal(
      await create({ overhead: { cpu: "1" } }),
      `${forbidden}pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead`,
    );
    assert.equal(
      await create({ runtimeClassName: "vm", overhead: { cpu: "1" } }),
      `${forbidden}pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead`,
    );
    assert.equal(await create({ runtimeClassName: "vm", overhead: {} }), "accepted");
  });
});
