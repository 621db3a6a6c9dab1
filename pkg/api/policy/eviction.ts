/** Eviction, the body of pods/eviction. */
import { pointer, value, structs } from "#schema";
import { kind, objectMeta } from "#meta";
import { embeddedDeleteOptions } from "../meta/options.ts";
import { plainColumns, plainRow } from "../printing.ts";
import { same } from "../strategy.ts";

function evictionOf(version: "v1" | "v1beta1") {
  return structs(`api/policy/${version}`)(
    "Eviction",
    "Eviction evicts a pod through its subresource `eviction`: deletes it, unless that would " +
      "violate a PodDisruptionBudget (429).",
    {
      metadata: value(1, objectMeta, "Name and namespace of the pod to evict."),
      deleteOptions: pointer(
        2,
        embeddedDeleteOptions,
        "Options of the deletion, such as grace period, preconditions and dry run.",
      ),
    },
  );
}

export const evictionV1 = evictionOf("v1");
export const evictionV1beta1 = evictionOf("v1beta1");

/** Eviction is a request body and never stored. */
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
