/** The kinds that Stages select, and the objects of these kinds. */
import type { ApiObject } from "#client";
import type { StageSpec } from "#kinds";

/** Group version and kind as in `resourceRef`: `v1/Pod`, `apps/v1/Deployment`. */
export type StagedKind = string;
/** Any object; templates and expressions read its fields. */
export type StagedObject = ApiObject;

export const podKind: StagedKind = "v1/Pod";
export const nodeKind: StagedKind = "v1/Node";

export function stagedKindOf({ apiGroup = "", kind }: StageSpec["resourceRef"]): StagedKind {
  return `${apiGroup === "" ? "v1" : apiGroup}/${kind}`;
}

/** Whether the simulated nodes play the Stages of the kind, for their own objects only. */
export function isOfNodes(kind: StagedKind): boolean {
  return kind === podKind || kind === nodeKind;
}

export function typeMetaOf(staged: StagedKind): {
  readonly apiVersion: string;
  readonly kind: string;
} {
  const at = staged.lastIndexOf("/");
  return { apiVersion: staged.slice(0, at), kind: staged.slice(at + 1) };
}

/** The object with its type, as templates and expressions read it. */
export function documentOf<T extends StagedObject>(kind: StagedKind, object: T): T {
  return { ...typeMetaOf(kind), ...object };
}
