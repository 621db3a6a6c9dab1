/** fieldmanager: server-side apply and metadata.managedFields, by the rules of structured-merge-diff. */
export { type FieldSet, setOf } from "./fieldpath/set.ts";
export { atomicPaths } from "./typed/atomic-paths.ts";
export { configurationFault, GoNative } from "./typed/validate.ts";
export { merge as mergeConfiguration } from "./typed/merge.ts";
export { createdFields, createdFieldsInSlices } from "./typed/created-fields.ts";
export { deduced, rootShape, type Shape } from "./typed/shape.ts";
export { entriesFault, type ManagedFieldsEntry, ManagedFieldsError } from "./managers.ts";
export type { FieldFilter, Versions } from "./updater.ts";
export { ElementError } from "./typed/value.ts";
export {
  applyConfiguration,
  managedFieldsAtCreation,
  managedFieldsAfterUpdate,
  excludedAtCreation,
  describeObject,
  type Write as ManagedWrite,
} from "./managed-fields.ts";
export { toParent, type ReplicasField, toSubresource } from "./scale.ts";
