import assert from "node:assert/strict";
import { testAdmission } from "../../testing.ts";

describe("LimitRanger", () => {
  const start = async () => {
    const test = await testAdmission("LimitRanger");
    const limits = [
      { type: "Container", default: { cpu: "2" }, defaultRequest: { cpu: "1" }, max: { cpu: "3" } },
      { type: "PersistentVolumeClaim", max: { storage: "1Gi" } },
    ];
    await test.post("v1/limitranges/ns", { metadata: { name: "l" }, spec: { limits } });
    return test;
  };
  const pod = (resources?: object): any => ({
    metadata: { name: "p" },
    spec: { containers: [{ name: "c", ...(resources && { resources }) }] },
  });

  it("sets default requests and limits, and records them in an annotation", async () => {
    const test = await start();
    const object = pod();
    assert.equal(await test.admit("create v1/pods/ns", { object }), "accepted");
    const { requests, limits } = object.spec.containers[0].resources;
    assert.deepEqual([{ ...requests }, { ...limits }], [{ cpu: "1" }, { cpu: "2" }]);
    assert.equal(
      object.metadata.annotations["kubernetes.io/limit-ranger"],
      "LimitRanger plugin set: cpu request for container c; cpu limit for container c",
    );
  });

  it("refuses pods and claims above the maximum", async () => {
    const test = await start();
    const object = pod({ limits: { cpu: "4" } });
    assert.equal(
      await test.admit("create v1/pods/ns", { object }),
      '403 pods "p" is forbidden: maximum cpu usage per Container is 3, but limit is 4',
    );
    const claim = {
      metadata: { name: "c" },
      spec: { resources: { requests: { storage: "2Gi" } } },
    };
    assert.equal(
      await test.admit("create v1/persistentvolumeclaims/ns", { object: claim }),
      '403 persistentvolumeclaims "c" is forbidden: ' +
        "maximum storage usage per PersistentVolumeClaim is 1Gi, but request is 2Gi",
    );
  });
});
