/** What pods/eviction takes. */
import { pointer, value, structs } from "#schema";
import { kind, objectMeta } from "#meta";
import { deleteOptions } from "../meta/options.ts";
import { plainColumns, plainRow } from "../printing.ts";
import { same } from "../strategy.ts";

function evictionOf(version: "v1" | "v1beta1") {
  return structs(`api/policy/${version}`)(
    "Eviction",
    "Asks for a pod to be deleted unless a disruption budget forbids it.",
    {
      metadata: value(1, objectMeta, "Name and namespace of the pod."),
      deleteOptions: pointer(2, deleteOptions, "How the pod is deleted."),
    },
  );
}

export const evictionV1 = evictionOf("v1");
export const evictionV1beta1 = evictionOf("v1beta1");

/** Never stored. */
export const eviction = kind(evictionV1, {
  group: "policy",
  kind: "Eviction",
  plural: "evictions",
  scope: "Namespaced",
  versions: [
    { version: "v1", struct: evictionV1, onByDefault: true, convert: "hub" },
    { version: "v1beta1", struct: evictionV1beta1, onByDefault: true, convert: same },
  ],
  columns: plainColumns,
  row: plainRow,
});
