import { resolve } from "#meta";
import type { AdmissionAttributes } from "#registry";
import { isFor } from "../../objects.ts";
import type { AdmissionPlugin } from "../../plugin.ts";
import { annotation, defaultClassOf } from "../default-class.ts";

/** Sets storageClassName of new claims without a class to the default StorageClass. */
export const defaultStorageClass: AdmissionPlugin = {
  name: "DefaultStorageClass",
  enabled: "default",
  resources: ["persistentvolumeclaims"],
  create({ objects, domain }) {
    const classAnnotation = resolve("volume.beta.{label}/storage-class", domain);
    const defaultAnnotations = ["storageclass.{label}", "storageclass.beta.{label}"].map((prefix) =>
      resolve(`${prefix}/is-default-class`, domain),
    );
    const setClass = async ({
      request,
      object,
    }: AdmissionAttributes): Promise<readonly string[]> => {
      const where = { group: "storage.{api}", plural: "storageclasses" };
      const found = defaultClassOf(await objects.list(where, request.context), defaultAnnotations);
      if (found !== undefined) object.spec.storageClassName = found.metadata.name;
      return [];
    };
    return {
      mutate: (attributes) => {
        const { object, operation } = attributes;
        if (!isFor(attributes, "", "persistentvolumeclaims")) return undefined;
        if (operation !== "create") return undefined;
        const { metadata, spec } = object;
        const named = spec.storageClassName ?? annotation(metadata, classAnnotation);
        return named === undefined ? setClass(attributes) : undefined;
      },
    };
  },
};
