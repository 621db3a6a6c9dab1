import { semanticEquality } from "#schema";
import type { AdmissionAttributes } from "../contract.ts";

/**
 * Whether an update changes only finalizers, owner references and managedFields: updates of the garbage
 * collector and of storage migration, which do not affect the permissions that the object grants.
 */
export function onlyChangesGarbageCollection({
  request,
  operation,
  object,
  old,
}: Pick<AdmissionAttributes, "request" | "operation" | "object" | "old">): boolean {
  if (operation !== "update") return false;
  const isEqual = semanticEquality(request.resource.hub.struct);
  return isEqual(withoutGarbageCollectionFields(object), withoutGarbageCollectionFields(old));
}

function withoutGarbageCollectionFields({ metadata, ...object }: any): unknown {
  const {
    finalizers: _finalizers,
    ownerReferences: _owners,
    managedFields: _managers,
    resourceVersion: _version,
    ...others
  } = metadata;
  return { ...object, metadata: others };
}
