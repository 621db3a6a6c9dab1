import type { Client } from "#client";
import { type ClaimCondition, type PersistentVolumeClaim, persistentVolumeClaims } from "#kinds";

/** Conditions of a claim that tell of its expansion. */
const resizeConditions = new Set([
  "Resizing",
  "FileSystemResizePending",
  "ControllerResizeError",
  "NodeResizeError",
]);
export type ClaimStatus = NonNullable<PersistentVolumeClaim["status"]>;

/**
 * The conditions of a claim with those of its expansion replaced.
 * @param keepOthers whether conditions of earlier steps stay
 */
export function withResizeConditions(
  { status }: PersistentVolumeClaim,
  conditions: readonly ClaimCondition[],
  keepOthers: boolean,
): readonly ClaimCondition[] {
  const before = status?.conditions ?? [];
  const kept = before.filter(({ type }) => {
    if (conditions.some((each) => each.type === type)) return false;
    return !resizeConditions.has(type) || keepOthers;
  });
  const changed = conditions.map((condition) => {
    const old = before.find(({ type }) => type === condition.type);
    const isSame = old?.status === condition.status && old.message === condition.message;
    return isSame ? old : condition;
  });
  return [...kept, ...changed];
}

/** Writes fields of the status of a claim in its known version; `null` removes one. */
export async function patchClaimStatus(
  client: Client,
  { metadata }: PersistentVolumeClaim,
  status: { readonly [name in keyof ClaimStatus]: ClaimStatus[name] | object | null },
): Promise<PersistentVolumeClaim> {
  const { namespace = "", name, uid, resourceVersion } = metadata;
  const at = { namespace, name, subresource: "status" };
  const body = { metadata: { uid, resourceVersion }, status };
  return client.patch(persistentVolumeClaims, at, { type: "merge", body });
}
