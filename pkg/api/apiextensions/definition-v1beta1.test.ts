import assert from "node:assert/strict";
import { applyDefaults, fromJson } from "#schema";
import { customResourceDefinitionV1beta1, definitionFromV1beta1 } from "./definition-v1beta1.ts";

/** Reads a definition that is stored in v1beta1 as v1. */
function read(spec: object): any {
  const value = { metadata: { name: "crontabs.example.com" }, spec };
  const object = fromJson(customResourceDefinitionV1beta1, value, { root: true });
  applyDefaults(customResourceDefinitionV1beta1, object);
  return definitionFromV1beta1(object as never).spec;
}

const names = { plural: "crontabs", kind: "CronTab" };
const schema = { openAPIV3Schema: { type: "object" } };

describe("CustomResourceDefinition stored in v1beta1", () => {
  it("copies fields of the spec into every version", () => {
    const { versions, conversion, scope, preserveUnknownFields } = read({
      group: "example.com",
      names,
      scope: "Namespaced",
      version: "v1",
      preserveUnknownFields: false,
      versions: [
        { name: "v1", served: true, storage: true },
        {
          name: "v2",
          served: true,
          storage: false,
          schema: { openAPIV3Schema: { type: "string" } },
        },
      ],
      validation: schema,
      subresources: { status: {} },
      additionalPrinterColumns: [{ name: "Size", type: "integer", JSONPath: ".spec.size" }],
    });
    const columns = [{ name: "Size", type: "integer", jsonPath: ".spec.size" }];
    const common = {
      served: true,
      subresources: { status: {} },
      additionalPrinterColumns: columns,
    };
    assert.deepEqual(versions, [
      { name: "v1", storage: true, schema, ...common },
      { name: "v2", storage: false, ...common, schema: { openAPIV3Schema: { type: "string" } } },
    ]);
    assert.deepEqual(conversion, { strategy: "None" });
    assert.deepEqual([scope, preserveUnknownFields], ["Namespaced", undefined]);
  });

  it("converts spec.version to a list, and webhookClientConfig to a webhook", () => {
    const { versions, conversion, preserveUnknownFields } = read({
      group: "example.com",
      names,
      scope: "Cluster",
      version: "v1beta1",
      conversion: { strategy: "Webhook", webhookClientConfig: { url: "https://a.example.com" } },
    });
    assert.deepEqual(versions, [{ name: "v1beta1", served: true, storage: true }]);
    assert.deepEqual(conversion, {
      strategy: "Webhook",
      webhook: {
        clientConfig: { url: "https://a.example.com" },
        conversionReviewVersions: ["v1beta1"],
      },
    });
    assert.equal(preserveUnknownFields, true);
  });
});
