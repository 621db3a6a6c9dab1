/** API kinds: all built-in kinds, one file each, and kinds that are sent but never stored. */
export { builtinKinds } from "./builtin-kinds.ts";
export {
  cleanupFinalizer,
  conditionOf,
  type DefinitionCondition,
  withCondition,
} from "./apiextensions/definition-conditions.ts";
export type {
  CustomResourceDefinition,
  DefinitionNames,
  DefinitionVersion,
} from "./apiextensions/definition-structs.ts";
export {
  type CronField,
  type CronFields,
  type CronSchedule,
  isTimeZone,
  parseCronSchedule,
} from "./batch/cron-schedule.ts";
export { maxSelectorCost, deviceEnvironment } from "./resource/device-expressions.ts";
export { checkScale, scaleV1 } from "./autoscaling/scale.ts";
export {
  compileExpression,
  type ExpressionPosition,
  type ExpressionScope,
  variableTypes,
} from "./admissionregistration/policy/policy-expressions.ts";
export {
  type CheckedPolicy,
  customType,
  maxCheckedKinds,
  type TypedResource,
  typedResources,
  typeWarnings,
} from "./admissionregistration/policy/type-warnings.ts";
export { bootstrapObjects } from "./bootstrap.ts";
export { type AccessDefault, accessDefaults } from "./bootstrap/access-defaults.ts";
export { apiServicePriorities } from "./bootstrap/api-services.ts";
export { type FlowControlDefault, flowControlDefaults } from "./bootstrap/flow-control.ts";
export type { FlowSchema } from "./flowcontrol/flow-schema.ts";
export type { PriorityLevel } from "./flowcontrol/priority-level-configuration.ts";
export * from "./meta/index.ts";
export { parseRequest } from "./certificates/pkcs10.ts";
export { qualityClassOf } from "./core/pod/qos-class.ts";
export { nodeAffinity, topologySpreadConstraint } from "./core/pod/spec/scheduling.ts";
export { isExtendedName } from "./core/shared/resource-names.ts";
export { rangeAllocation } from "./core/range-allocation.ts";
export {
  isHeadless,
  needsClusterIp,
  needsHealthCheckNodePort,
  needsNodePort,
  type Service,
} from "./core/service/service-types.ts";
export { humanDuration, nameColumn } from "./printing.ts";
export { subresourceKinds } from "./subresource-kinds.ts";
export { wireKinds, type WireKind } from "./wire-kinds.ts";
export {
  FeatureGateError,
  featureGates,
  gatesWithoutEffect,
  featureStages,
} from "./features/feature-gates.ts";
