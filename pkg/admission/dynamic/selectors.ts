import { type LabelSelector, notFound, selectorFromLabelSelector } from "#meta";
import type { ObjectReader } from "../objects.ts";
import type { VersionedAttributes } from "./versioned-attributes.ts";

/** Parsed label selectors of a configuration. */
export interface Selectors {
  readonly namespaces: ReturnType<typeof selectorFromLabelSelector>;
  readonly objects: ReturnType<typeof selectorFromLabelSelector>;
}

interface Selecting {
  readonly namespaceSelector?: LabelSelector | undefined;
  readonly objectSelector?: LabelSelector | undefined;
}

/** Parses selectors; an absent one matches everything. */
export function selectorsOf({ namespaceSelector, objectSelector }: Selecting): Selectors {
  return {
    namespaces: selectorFromLabelSelector(namespaceSelector ?? {}),
    objects: selectorFromLabelSelector(objectSelector ?? {}),
  };
}

/**
 * Whether the labels of the old or the new object match. An object without metadata (options of a
 * stream) matches an empty selector only; a Scale has metadata, but no labels.
 */
export function objectsSelect({ objects }: Selectors, reviewed: VersionedAttributes): boolean {
  if (objects.empty) return true;
  const { attributes, isScale } = reviewed;
  return [attributes.object, attributes.old].some(
    (object) =>
      object?.metadata !== undefined &&
      objects.matches(isScale ? {} : (object.metadata.labels ?? {})),
  );
}

/**
 * Whether the labels of the object's namespace match; for a Namespace its own labels. Cluster-scoped objects
 * always match. @throws 404 if the namespace does not exist
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
