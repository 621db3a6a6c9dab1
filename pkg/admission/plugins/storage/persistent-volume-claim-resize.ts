import { Quantity, resolve } from "#meta";
import type { AdmissionAttributes } from "#registry";
import { isFor, forbiddenRequest } from "../../objects.ts";
import type { AdmissionPlugin } from "../../plugin.ts";
import { annotation } from "../default-class.ts";

const classes = { group: "storage.{api}", plural: "storageclasses" };

/** Rejects growth of claims that are not bound, or whose StorageClass does not allow volume expansion. */
export const persistentVolumeClaimResize: AdmissionPlugin = {
  name: "PersistentVolumeClaimResize",
  enabled: "default",
  resources: ["persistentvolumeclaims"],
  create({ objects, domain }) {
    const classAnnotation = resolve("volume.beta.{label}/storage-class", domain);
    const checkClass = async (attributes: AdmissionAttributes): Promise<readonly string[]> => {
      const { request, object } = attributes;
      const { metadata, spec } = object;
      const name = annotation(metadata, classAnnotation) ?? spec.storageClassName ?? "";
      const found = name === "" ? undefined : await objects.find(classes, name, request.context);
      if (found?.allowVolumeExpansion) return [];
      throw forbiddenRequest(
        attributes,
        "only dynamically provisioned pvc can be resized and the storageclass that provisions " +
          "the pvc must support resize",
      );
    };
    return {
      validate: (attributes) => {
        const { object, old, operation } = attributes;
        if (!isFor(attributes, "", "persistentvolumeclaims")) return undefined;
        if (operation !== "update" || sizeOf(object).compare(sizeOf(old)) <= 0) return undefined;
        if (old.status?.phase !== "Bound") {
          throw forbiddenRequest(attributes, "Only bound persistent volume claims can be expanded");
        }
        return checkClass(attributes);
      },
    };
  },
};

function sizeOf({ spec }: any): Quantity {
  return Quantity.parse(spec.resources?.requests?.storage ?? "0");
}
