/** The type JSONPatch of MutatingAdmissionPolicies. */
import { define, type Library, overload } from "../../check/declare.ts";
import { dyn, objectOf, type ObjectField, string, unspecified } from "../../check/types.ts";
import { goTypeName, type Value } from "../../value/values.ts";

const fields: ReadonlyMap<string, ObjectField> = new Map([
  ["op", { key: "op", type: string }],
  ["path", { key: "path", type: string }],
  ["from", { key: "from", type: string }],
  ["value", { key: "value", type: dyn }],
]);

/** One operation of RFC 6902. As in Kubernetes, unknown fields are only an error at run time. */
export const jsonPatchType = objectOf({
  name: "JSONPatch",
  field: (name) => fields.get(name) ?? { key: name, type: unspecified },
  fault: (values) => {
    for (const [name, value] of Object.entries(values)) {
      const field = fields.get(name);
      if (field === undefined) return `unexpected JSONPatchType field: ${name}`;
      if (field.type === dyn || typeof value === "string") continue;
      return `unexpected type ${goTypeName(value as Value)} for JSONPatchType '${name}' field`;
    }
    return undefined;
  },
});

export const jsonPatchLibrary: Library = {
  types: [jsonPatchType],
  functions: [
    define(
      "jsonpatch.escapeKey",
      overload("jsonpatch_escape_key", "(string) -> string", (key: string) =>
        key.replaceAll("~", "~0").replaceAll("/", "~1"),
      ),
    ),
  ],
};
