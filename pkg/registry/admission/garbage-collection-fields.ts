import { deepEqual } from "#base";
import type { AdmissionAttributes } from "../contract.ts";

/**
 * Whether an update changes finalizers, owner references and managedFields at most: what the garbage
 * collector and storage migration write, without any effect on what the object grants.
 */
export function onlyChangesGarbageCollection({
  operation,
  object,
  old,
}: Pick<AdmissionAttributes, "operation" | "object" | "old">): boolean {
  return operation === "update" && deepEqual(rest(object), rest(old));
}

function rest({ metadata, ...object }: any): unknown {
  const {
    finalizers: _finalizers,
    ownerReferences: _owners,
    managedFields: _managers,
    resourceVersion: _version,
    ...own
  } = metadata;
  return { ...object, metadata: own };
}
