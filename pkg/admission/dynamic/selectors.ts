import { type LabelSelector, notFound, selectorFromLabelSelector } from "#meta";
import type { ObjectReader } from "../objects.ts";
import type { VersionedAttributes } from "./versioned-attributes.ts";

/** Label selectors of a configuration, ready for use. */
export interface Selectors {
  readonly namespaces: ReturnType<typeof selectorFromLabelSelector>;
  readonly objects: ReturnType<typeof selectorFromLabelSelector>;
}

interface Selecting {
  readonly namespaceSelector?: LabelSelector | undefined;
  readonly objectSelector?: LabelSelector | undefined;
}

/** A selector that is absent means everything. */
export function selectorsOf({ namespaceSelector, objectSelector }: Selecting): Selectors {
  return {
    namespaces: selectorFromLabelSelector(namespaceSelector ?? {}),
    objects: selectorFromLabelSelector(objectSelector ?? {}),
  };
}

/** Old or new labels will do; what can have no labels is meant by no selector but an empty one. */
export function objectsSelect(
  { objects }: Selectors,
  { attributes }: VersionedAttributes,
): boolean {
  if (objects.empty) return true;
  return [attributes.object, attributes.old].some(
    (object) => object?.metadata !== undefined && objects.matches(object.metadata.labels ?? {}),
  );
}

/**
 * By the labels of the object's namespace, or by those of a namespace that is being written.
 * Objects of the cluster are never left out. Throws 404 for a namespace that is not there.
 */
export async function namespacesSelect(
  { namespaces }: Selectors,
  reviewed: VersionedAttributes,
  objects: ObjectReader,
): Promise<boolean> {
  if (namespaces.empty) return true;
  if (reviewed.namespace === "" && !reviewed.isNamespace) return true;
  return namespaces.matches(await namespaceLabels(reviewed, objects));
}

async function namespaceLabels(
  { attributes, isNamespace, subresource, namespace }: VersionedAttributes,
  objects: ObjectReader,
): Promise<Readonly<Record<string, string>>> {
  if (isNamespace && subresource === "" && attributes.object !== undefined) {
    return attributes.object.metadata.labels ?? {};
  }
  const { context } = attributes.request;
  const found = await objects.find({ group: "", plural: "namespaces" }, namespace, context);
  const seen = found ?? (isNamespace ? attributes.old : undefined);
  if (seen === undefined) throw notFound({ group: "", plural: "namespaces" }, namespace);
  return seen.metadata.labels ?? {};
}
