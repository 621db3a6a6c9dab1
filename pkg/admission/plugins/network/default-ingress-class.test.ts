import assert from "node:assert/strict";
import { testAdmission } from "../../testing.ts";

describe("DefaultIngressClass", () => {
  const path = "networking.k8s.io/v1/ingresses/ns";
  const start = async () => {
    const test = await testAdmission("DefaultIngressClass");
    const annotations = { "ingressclass.kubernetes.io/is-default-class": "true" };
    for (const name of ["b", "a"]) {
      await test.post("networking.k8s.io/v1/ingressclasses", {
        metadata: { name, annotations },
        spec: { controller: "example.com/c" },
      });
    }
    return test;
  };

  it("sets the default class; of two equally old ones, the first by name", async () => {
    const test = await start();
    const object: any = { metadata: { name: "i" }, spec: {} };
    assert.equal(await test.admit(`create ${path}`, { object }), "accepted");
    assert.equal(object.spec.ingressClassName, "a");
  });

  it("ignores Ingresses with a class", async () => {
    const test = await start();
    const annotations = { "kubernetes.io/ingress.class": "old" };
    const object = { metadata: { name: "i", annotations }, spec: {} };
    assert.equal(test.phase("mutating", `create ${path}`, { object }), undefined);
    assert.deepEqual(object.spec, {});
  });
});
