import { resolve } from "#meta";
import { isFor } from "../../objects.ts";
import type { AdmissionPlugin } from "../../plugin.ts";

const finalizers = [
  { group: "", plural: "persistentvolumeclaims", finalizer: "{label}/pvc-protection" },
  { group: "", plural: "persistentvolumes", finalizer: "{label}/pv-protection" },
  {
    group: "storage.{api}",
    plural: "volumeattributesclasses",
    finalizer: "{label}/vac-protection",
  },
];

/**
 * Adds a finalizer to new storage objects. The protection controllers remove it when the object is
 * no longer in use.
 */
export const storageObjectInUseProtection: AdmissionPlugin = {
  name: "StorageObjectInUseProtection",
  enabled: "default",
  resources: finalizers.map(({ plural }) => plural),
  create({ domain }) {
    const protectors = finalizers.map((each) => ({
      ...each,
      finalizer: resolve(each.finalizer, domain),
    }));
    return {
      mutate: (attributes) => {
        if (attributes.operation !== "create") return undefined;
        const found = protectors.find(({ group, plural }) => isFor(attributes, group, plural));
        if (found === undefined) return undefined;
        const { metadata } = attributes.object;
        const before: readonly string[] = metadata.finalizers ?? [];
        if (!before.includes(found.finalizer)) metadata.finalizers = [...before, found.finalizer];
        return undefined;
      },
    };
  },
};
