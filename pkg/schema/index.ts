/** schema: the schema language and its folds, one per file. */
export type * from "./types.ts";
export type { ListShape, MapShape, MergeShape } from "./merge-shape.ts";
export * from "./declare.ts";
export { type FieldProblem, type Look, Path, Problems, type ProblemType } from "./problems.ts";
export { ScalarFault } from "./scalar-fault.ts";
export { DecodeFault, JsonFault } from "./faults.ts";
export { checkDepth } from "./depth.ts";
export { parseJson, type ParsedJson } from "./json-parse.ts";
export { restoreWritten, withWritten, Written } from "./json-literals.ts";
export { fromJson } from "./from-json.ts";
export { escapedForHtml, jsonMembers, toJson, toJsonValue, type TypeMeta } from "./to-json.ts";
export { fromProtobuf, toProtobuf } from "./protobuf.ts";
export { envelopeAround, unwrapEnvelope, wrapEnvelope } from "./protobuf-envelope.ts";
export { protoText } from "./proto-text.ts";
export { applyDefaults } from "./defaults.ts";
export { checkFields } from "./validate.ts";
export { dropGated } from "./gates.ts";
export { checkImmutable } from "./update-rules.ts";
export { mergeRules } from "./merge-rules.ts";
export { fieldNamed, jsonFields, resolved, type JsonField } from "./layout.ts";
export { arbitrary } from "./arbitrary.ts";
export { openApiV2 } from "./openapi-v2.ts";
export { openApiV3 } from "./openapi-v3.ts";
export {
  type GroupVersionKind,
  type OpenApiDefinition,
  openApiDefinitions,
  type OpenApiFold,
  type OpenApiNaming,
  type OpenApiRoot,
  type OpenApiSchema,
  type OpenApiType,
} from "./openapi.ts";
