import { type Domain, Quantity, resolve } from "#meta";
import type { AdmissionHandler } from "#registry";
import { annotation, defaultAmong } from "../default-class.ts";
import { isFor, type ObjectReader, refuse } from "../../objects.ts";

const classes = { group: "storage.{api}", plural: "storageclasses" };

/** Claims that name no class get the default one, if there is one. */
export function defaultStorageClass(objects: ObjectReader, domain: Domain): AdmissionHandler {
  const old = resolve("volume.beta.{label}/storage-class", domain);
  const marks = ["storageclass.{label}", "storageclass.beta.{label}"].map((prefix) =>
    resolve(`${prefix}/is-default-class`, domain),
  );
  return async (attributes) => {
    const { request, object, operation } = attributes;
    if (!isFor(attributes, "", "persistentvolumeclaims") || operation !== "create") return [];
    const { metadata, spec } = object;
    if (spec.storageClassName !== undefined || annotation(metadata, old) !== undefined) return [];
    const found = defaultAmong(await objects.list(classes, request.context), marks);
    if (found !== undefined) spec.storageClassName = found.metadata.name;
    return [];
  };
}

/** What is in use cannot go: a controller takes the finalizer away when nobody uses it. */
export function storageProtection(domain: Domain): AdmissionHandler {
  const protectors = [
    { group: "", plural: "persistentvolumeclaims", finalizer: "{label}/pvc-protection" },
    { group: "", plural: "persistentvolumes", finalizer: "{label}/pv-protection" },
    {
      group: "storage.{api}",
      plural: "volumeattributesclasses",
      finalizer: "{label}/vac-protection",
    },
  ].map((each) => ({ ...each, finalizer: resolve(each.finalizer, domain) }));
  return async (attributes) => {
    if (attributes.operation !== "create") return [];
    const found = protectors.find(({ group, plural }) => isFor(attributes, group, plural));
    if (found === undefined) return [];
    const { metadata } = attributes.object;
    const before: readonly string[] = metadata.finalizers ?? [];
    if (!before.includes(found.finalizer)) metadata.finalizers = [...before, found.finalizer];
    return [];
  };
}

/** A claim grows only where its class allows it. */
export function claimResize(objects: ObjectReader, domain: Domain): AdmissionHandler {
  const oldAnnotation = resolve("volume.beta.{label}/storage-class", domain);
  return async (attributes) => {
    const { request, object, old, operation } = attributes;
    if (!isFor(attributes, "", "persistentvolumeclaims") || operation !== "update") return [];
    const [wanted, granted] = [sizeOf(object), sizeOf(old)];
    if (wanted.compare(granted) <= 0) return [];
    if (old.status?.phase !== "Bound") {
      throw refuse(attributes, "Only bound persistent volume claims can be expanded");
    }
    const name = annotation(object.metadata, oldAnnotation) ?? object.spec.storageClassName ?? "";
    const found = name === "" ? undefined : await objects.find(classes, name, request.context);
    if (found?.allowVolumeExpansion) return [];
    throw refuse(
      attributes,
      "only dynamically provisioned pvc can be resized and the storageclass that provisions " +
        "the pvc must support resize",
    );
  };
}

function sizeOf({ spec }: any): Quantity {
  return Quantity.parse(spec.resources?.requests?.storage ?? "0");
}
