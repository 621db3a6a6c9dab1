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
