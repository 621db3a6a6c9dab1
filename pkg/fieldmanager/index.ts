/** fieldmanager: server-side apply and metadata.managedFields, on structured-merge-diff's rules. */
export { type FieldSet, parseFieldSet, type Pattern, setOf } from "./fieldpath/set.ts";
export { atomicUnits } from "./typed/atomic-units.ts";
export { configurationFault } from "./typed/validate.ts";
export { merge as mergeConfiguration } from "./typed/merge.ts";
export { createdFields } from "./typed/created-fields.ts";
export { deduced, rootShape, type Shape } from "./typed/shape.ts";
export { entriesFault, type ManagedFieldsEntry, OwnershipFault } from "./managers.ts";
export type { Scope, Versions } from "./updater.ts";
export { ElementFault } from "./typed/value.ts";
export {
  applyConfiguration,
  creationEntries,
  entriesAfterUpdate,
  leftOut,
  named as describeObject,
  type Write as OwnedWrite,
} from "./managed-fields.ts";
export { parentEntries, type Replicas, scaleEntries } from "./scale.ts";
