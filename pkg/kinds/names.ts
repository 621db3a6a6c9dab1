import type { ApiObject } from "#client";

export type Labels = Readonly<Record<string, string>>;

const noLabels: Labels = {};

/** Namespace of the object; "" for objects of the cluster. */
export function namespaceOf({ metadata }: ApiObject): string {
  return metadata.namespace ?? "";
}

export function labelsOf({ metadata }: ApiObject): Labels {
  return metadata.labels ?? noLabels;
}
