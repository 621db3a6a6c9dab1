/** Volumes, claims and storage classes, as far as the scheduler reads them. */
import type { ApiObject, Handle } from "#client";
import type { NodeSelector, NodeSelectorTerm } from "./node.ts";

export interface PersistentVolumeClaim extends ApiObject {
  readonly spec?: { readonly volumeName?: string; readonly storageClassName?: string };
  readonly status?: { readonly phase?: string };
}

export interface PersistentVolume extends ApiObject {
  readonly spec?: { readonly nodeAffinity?: { readonly required?: NodeSelector } };
}

export interface StorageClass extends ApiObject {
  readonly provisioner?: string;
  readonly volumeBindingMode?: string;
  readonly allowedTopologies?: readonly {
    readonly matchLabelExpressions?: readonly {
      readonly key: string;
      readonly values?: readonly string[];
    }[];
  }[];
}

export const persistentVolumeClaims: Handle<PersistentVolumeClaim> = {
  group: "",
  version: "v1",
  plural: "persistentvolumeclaims",
  kind: "PersistentVolumeClaim",
  namespaced: true,
};

export const persistentVolumes: Handle<PersistentVolume> = {
  group: "",
  version: "v1",
  plural: "persistentvolumes",
  kind: "PersistentVolume",
  namespaced: false,
};

export function storageClasses(group: string): Handle<StorageClass> {
  return {
    group,
    version: "v1",
    plural: "storageclasses",
    kind: "StorageClass",
    namespaced: false,
  };
}

/** Topologies in which a class provisions, as terms of a node selector. */
export function topologyTerms({ allowedTopologies = [] }: StorageClass): NodeSelectorTerm[] {
  return allowedTopologies.map(({ matchLabelExpressions = [] }) => ({
    matchExpressions: matchLabelExpressions.map((each) => ({ ...each, operator: "In" })),
  }));
}
