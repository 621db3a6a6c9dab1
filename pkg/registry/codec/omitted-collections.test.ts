import assert from "node:assert/strict";
import { testRegistry, type TestRegistry } from "../testing.ts";
import { hasOmittedCollections } from "./omitted-collections.ts";

describe("hasOmittedCollections", () => {
  let test: TestRegistry;
  before(async () => (test = await testRegistry()));

  const omits = (path: string, object: object): boolean =>
    hasOmittedCollections(test.request(path).resource.hub.struct, object);

  it("finds empty lists and maps with omitempty at any depth", () => {
    assert.ok(omits("v1/configmaps/ns", { metadata: { labels: {} } }));
    assert.ok(omits("v1/pods/ns", { metadata: {}, spec: { containers: [], volumes: [] } }));
    const template = { spec: { containers: [{ name: "c", env: [] }] } };
    assert.ok(omits("apps/v1/deployments/ns", { metadata: {}, spec: { template } }));
  });

  it("ignores empty structs and lists without omitempty", () => {
    assert.ok(!omits("v1/configmaps/ns", { metadata: { labels: { a: "" } }, data: null }));
    const volumes = [{ name: "v", emptyDir: {} }];
    assert.ok(!omits("v1/pods/ns", { metadata: {}, spec: { containers: [], volumes } }));
  });
});
