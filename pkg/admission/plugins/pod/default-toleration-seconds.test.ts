import assert from "node:assert/strict";
import { testAdmission } from "../../testing.ts";

describe("DefaultTolerationSeconds", () => {
  const tolerationsOf = async (...tolerations: readonly object[]) => {
    const test = await testAdmission("DefaultTolerationSeconds");
    const object = { metadata: {}, spec: { tolerations } };
    assert.equal(test.phase("mutating", "create v1/pods/ns", { object }), undefined);
    return object.spec.tolerations;
  };
  const added = (key: string) => ({
    key: `node.kubernetes.io/${key}`,
    operator: "Exists",
    effect: "NoExecute",
    tolerationSeconds: 300,
  });

  it("adds both tolerations, for 300 seconds", async () => {
    assert.deepEqual(await tolerationsOf(), [added("not-ready"), added("unreachable")]);
  });

  it("adds only what the pod does not tolerate already", async () => {
    const own = { key: "node.kubernetes.io/not-ready", operator: "Exists" };
    assert.deepEqual(await tolerationsOf(own), [own, added("unreachable")]);
    assert.deepEqual(await tolerationsOf({ operator: "Exists" }), [{ operator: "Exists" }]);
  });
});
