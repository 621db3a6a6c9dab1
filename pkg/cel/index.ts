/** cel: the expression language of validation rules and policies. */
export { Environment, type EnvironmentOptions } from "./environment.ts";
export { compile, type Compilation, type Outcome, type Program } from "./program.ts";
export * from "./types.ts";
export { escapeProperty, unescapeProperty } from "./escape.ts";
export type { CompileIssue } from "./source.ts";
export {
  Double,
  Duration,
  Entries,
  Items,
  ListValue,
  MapValue,
  Opaque,
  OptionalValue,
  Timestamp,
  TypeValue,
  Uint,
  type Value,
} from "./values.ts";
export { CelFault } from "./values.ts";
export { costLimits } from "./limits.ts";
export { structuralType, type StructuralSchema } from "./structural.ts";
export { kindType, structType } from "./struct-types.ts";
export { adapt } from "./json-values.ts";
export { plainJson } from "./plain-json.ts";
export { evaluateAsking } from "./asking.ts";
export { jsonPatchType } from "./library/json-patches.ts";
export {
  type AccessDecision,
  type AccessOracle,
  type AccessQuestion,
  authorizerType,
  authorizerValue,
  resourceCheckType,
  resourceCheckValue,
} from "./library/authorization.ts";
