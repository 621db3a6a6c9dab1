/** Generated CustomResourceDefinitions. */

export const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/** Names of a generated kind, the path of its objects, and one object. */
export function custom(index: number) {
  const group = `group${index % 200}.example.com`;
  const [plural, kind] = [`things${index}`, `Thing${index}`];
  const object = {
    apiVersion: `${group}/v1`,
    kind,
    metadata: { name: "one" },
    spec: { size: "1" },
  };
  const collection = `/apis/${group}/v1/namespaces/default/${plural}`;
  return { group, plural, kind, name: `${plural}.${group}`, collection, object };
}

/** A schema of typical size: 60 fields in three levels, about 9 kB of JSON. */
function schema(): object {
  const text = { type: "string", maxLength: 253, description: "A field of the specification." };
  const fields = (make: () => object, length: number): object =>
    Object.fromEntries(Array.from({ length }, (_each, index) => [`field${index}`, make()]));
  const inner = () => ({ type: "object", properties: fields(() => text, 9) });
  const list = () => ({ type: "array", items: inner() });
  const properties = { ...fields(inner, 3), lists: list(), others: list(), size: text };
  const status = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  return { type: "object", properties: { spec: { type: "object", properties }, status } };
}

/** The definition of one of many kinds, ten to a group if there are 2,000. */
export function definition(index: number): object {
  const { group, plural, kind, name } = custom(index);
  const version = { name: "v1", served: true, storage: true, subresources: { status: {} } };
  const versions = [{ ...version, schema: { openAPIV3Schema: schema() } }];
  const spec = { group, scope: "Namespaced", names: { plural, kind }, versions };
  const typeMeta = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition" };
  return { ...typeMeta, metadata: { name }, spec };
}
