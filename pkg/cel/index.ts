/**
 * cel: the Common Expression Language with Kubernetes' libraries and cost rules.
 *
 * ```ts
 * const self = structuralType(schema) ?? dyn;
 * const environment = Environment.kubernetes({ variables: { self } });
 * const { program, error } = compile("self.replicas <= 5", environment);
 * if (program === undefined) return `compilation failed: ${error}`;
 * if (program.estimatedCost.max > costLimits.estimatedRule) return "too costly";
 * const { value, error, cost } = program.evaluate({ self: object }, costLimits.call);
 * ```
 *
 * Creating an environment is expensive; `extend` with other variables is cheap. Programs are immutable.
 * Data is JSON, which is read through its declared type without copying.
 */
export { Environment, type EnvironmentOptions } from "./environment.ts";
export { compile, type Compilation, type Outcome, type Program } from "./program.ts";
export * from "./check/types.ts";
export { compilePattern } from "./library/kubernetes/patterns.ts";
export { escapeProperty, unescapeProperty } from "./syntax/escape.ts";
export type { CompileIssue } from "./syntax/source.ts";
export {
  Double,
  Duration,
  HashMap,
  ArrayList,
  ListValue,
  MapValue,
  Opaque,
  OptionalValue,
  Timestamp,
  TypeValue,
  Uint,
  type Value,
} from "./value/values.ts";
export { CelFault } from "./value/values.ts";
export { costLimits } from "./cost/limits.ts";
export {
  maxCountInRequest,
  resourceType,
  minSize,
  structuralType,
  type StructuralSchema,
} from "./check/structural.ts";
export { kindType, structType } from "./check/struct-types.ts";
export { adapt } from "./value/json-values.ts";
export { configurationJson, plainJson, typeNameFaults } from "./value/plain-json.ts";
export { NeededEvaluation } from "./runtime/progress.ts";
export { AccessEvaluator } from "./access-evaluator.ts";
export { quantityValue } from "./library/kubernetes/quantities.ts";
export { semverValue } from "./library/kubernetes/semver.ts";
export { jsonPatchType } from "./library/kubernetes/json-patches.ts";
export {
  type AccessDecision,
  type AccessDecider,
  type AccessCheck,
  authorizerType,
  authorizerValue,
  resourceCheckType,
  resourceCheckValue,
} from "./library/kubernetes/authorization.ts";
