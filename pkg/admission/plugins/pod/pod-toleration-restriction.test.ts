import assert from "node:assert/strict";
import { testAdmission } from "../../testing.ts";

describe("PodTolerationRestriction", () => {
  const allowed = { key: "a", operator: "Exists" };
  const Configuration = {
    apiVersion: "podtolerationrestriction.admission.k8s.io/v1alpha1",
    kind: "Configuration",
    default: [allowed],
    whitelist: [allowed],
  };
  const start = () =>
    testAdmission("PodTolerationRestriction", {
      configuration: { PodTolerationRestriction: Configuration },
    });
  const pod = (...tolerations: readonly object[]) => ({
    metadata: { name: "p" },
    spec: { containers: [{ name: "c", resources: {} }], tolerations },
  });

  it("adds the default tolerations", async () => {
    const test = await start();
    const object = pod();
    assert.equal(await test.admit("create v1/pods/ns", { object }), "accepted");
    assert.deepEqual(object.spec.tolerations, [allowed]);
  });

  it("puts the defaults behind the tolerations of the pod", async () => {
    const test = await start();
    const own = { key: "a", operator: "Equal", value: "v", effect: "NoExecute" };
    const requests = { cpu: "1" };
    const pressure = {
      key: "node.kubernetes.io/memory-pressure",
      operator: "Exists",
      effect: "NoSchedule",
    };
    const Whitelist = { ...Configuration, whitelist: [], default: [{ key: "b" }] };
    const open = await testAdmission("PodTolerationRestriction", {
      configuration: { PodTolerationRestriction: Whitelist },
    });
    const object: any = pod(own);
    object.spec.containers[0].resources = { requests };
    assert.equal(await open.admit("create v1/pods/ns", { object }), "accepted");
    assert.deepEqual(object.spec.tolerations, [own, { key: "b" }, pressure]);
    const covered = pod(own);
    assert.equal(await test.admit("create v1/pods/ns", { object: covered }), "accepted");
    assert.deepEqual(covered.spec.tolerations, [allowed]);
  });

  it("refuses tolerations outside the whitelist", async () => {
    const test = await start();
    const object = pod({ key: "b", operator: "Exists" });
    assert.equal(
      await test.admit("create v1/pods/ns", { object }),
      "500 pod tolerations (possibly merged with namespace default tolerations) " +
        "conflict with its cluster whitelist",
    );
  });
});
