import type { JsonSchema } from "./json-schema.ts";

/** Bits of features in a schema or its subschemas, by which walks skip subtrees. */
export const traits = {
  default: 1,
  embedded: 2,
  listType: 4,
  rules: 8,
} as const;

const allTraits = 15;

/** The traits of a schema and its subschemas, without compiling them. */
export function traitsOf(source: JsonSchema): number {
  let found = ownTraits(source);
  const { items, additionalProperties: values, properties } = source;
  if (items && !Array.isArray(items)) found |= traitsOf(items as JsonSchema);
  if (typeof values === "object") found |= traitsOf(values);
  for (const name in properties) {
    const property = properties[name];
    if (found === allTraits) return found;
    if (property !== undefined) found |= traitsOf(property);
  }
  return found;
}

function ownTraits(source: JsonSchema): number {
  const { "x-kubernetes-list-type": listType = "atomic" } = source;
  let found = 0;
  if (source.default !== undefined) found |= traits.default;
  if (source["x-kubernetes-embedded-resource"] === true) found |= traits.embedded;
  if (listType !== "atomic") found |= traits.listType;
  if ((source["x-kubernetes-validations"] ?? []).length > 0) found |= traits.rules;
  return found;
}
