/** fieldmanager: server-side apply and metadata.managedFields, on structured-merge-diff's rules. */
export { type FieldSet, type Pattern, setOf } from "./fieldpath/set.ts";
export { atomicUnits } from "./typed/atomic-units.ts";
export { configurationFault } from "./typed/validate.ts";
export { merge as mergeConfiguration } from "./typed/merge.ts";
export { createdFields } from "./typed/created-fields.ts";
export { deduced, rootShape, type Shape } from "./typed/shape.ts";
export { entriesFault, type ManagedFieldsEntry, ManagedFieldsError } from "./managers.ts";
export type { FieldFilter, Versions } from "./updater.ts";
export { ElementError } from "./typed/value.ts";
export {
  applyConfiguration,
  managedFieldsAtCreation,
  managedFieldsAfterUpdate,
  excludedAtCreation,
  named as describeObject,
  type Write as OwnedWrite,
} from "./managed-fields.ts";
export { toParent, type Replicas, toSubresource } from "./scale.ts";
