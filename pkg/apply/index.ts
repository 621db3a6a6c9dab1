/** apply: who owns which field of an object, and what an applied configuration makes of it. */
export { type FieldSet, parseFieldSet, type Pattern, setOf } from "./field-set.ts";
export { atomicUnits } from "./atomic-units.ts";
export { configurationFault } from "./check.ts";
export { merge as mergeConfiguration } from "./merge.ts";
export { createdFields } from "./created.ts";
export { deduced, rootShape, type Shape } from "./shape.ts";
export { entriesFault, type ManagedFieldsEntry, OwnershipFault } from "./managers.ts";
export type { Scope, Versions } from "./updater.ts";
export { ElementFault } from "./value.ts";
export {
  applyConfiguration,
  creationEntries,
  entriesAfterUpdate,
  leftOut,
  named as describeObject,
  type Write as OwnedWrite,
} from "./ownership.ts";
export { parentEntries, type Replicas, scaleEntries } from "./scale.ts";
