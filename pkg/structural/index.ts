/**
 * structural: structural schemas of custom resources: pruning, defaulting and validation.
 *
 * ```ts
 * const schema = new CompiledSchema(version.schema.openAPIV3Schema); // cheap; compiles on demand
 * const unknown = atOnce(pruneObject(object, schema)); // in place, may throw DecodeFault
 * applyDefaults(object, schema); // in place
 * const { problems, warnings } = checkObject({ apiVersion, kind, ...object }, schema, { old });
 * mergeShape(schema); // for server-side apply
 * publishedSchema(schema.source, "v2"); // for OpenAPI
 * JsonPath.parse(".status.phase")?.find(object)[0]; // printer columns, selectable fields
 * const replicas = valueAt(object, parseSimplePath(".spec.replicas")); // scale
 * ```
 *
 * For definitions, `checkDefaults` validates the defaults of a schema, and `checkRuleDefinitions`
 * compiles its CEL rules and checks their estimated cost.
 *
 * Values are parsed JSON. Compiled schemas are immutable.
 */
export type { JsonSchema, SchemaMap, ValidationRule } from "./schema/json-schema.ts";
export { CompiledSchema } from "./schema/compiled-schema.ts";
export { pruneObject } from "./prune/prune-object.ts";
export { applyDefaults } from "./prune/defaults.ts";
export { checkDefaults } from "./check/default-checks.ts";
export {
  cardinalityBelow,
  checkRuleDefinitions,
  RuleCosts,
  type RuleContext,
} from "./rules/rule-definitions.ts";
export { followFieldPath } from "./schema/field-path.ts";
export { type CheckResult, checkObject } from "./check/check-object.ts";
export { mergeShape } from "./schema/merge-shape.ts";
export { publishedSchema } from "./schema/openapi.ts";
export { JsonPath } from "./path/json-path.ts";
export { parseSimplePath, setValueAt, type SimplePath, valueAt } from "./path/simple-path.ts";
