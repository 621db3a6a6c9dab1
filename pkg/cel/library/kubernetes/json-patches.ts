/** The type JSONPatch of MutatingAdmissionPolicies. */
import { define, type Library, overload } from "../../check/declare.ts";
import { dyn, objectOf, type ObjectField, string } from "../../check/types.ts";

const fields: ReadonlyMap<string, ObjectField> = new Map([
  ["op", { key: "op", type: string }],
  ["path", { key: "path", type: string }],
  ["from", { key: "from", type: string }],
  ["value", { key: "value", type: dyn }],
]);

/** One operation of RFC 6902. */
export const jsonPatchType = objectOf({ name: "JSONPatch", field: (name) => fields.get(name) });

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
