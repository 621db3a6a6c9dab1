/** schema: the schema language and its folds: JSON, Protobuf, OpenAPI, validation, defaults. */
export type * from "./struct/types.ts";
export type { ListShape, MapShape, MergeShape } from "./struct/merge-shape.ts";
export * from "./struct/declare.ts";
export {
  type FieldProblem,
  type DeferredCheck,
  maxReportedProblems,
  Path,
  Problems,
  type ProblemType,
} from "./rules/problems.ts";
export { ScalarFault } from "./fault/scalar-fault.ts";
export { DecodeFault, JsonFault, TooManyValues } from "./fault/faults.ts";
export { checkDepth } from "./fault/depth.ts";
export {
  parseExactJson,
  parseJson,
  parseJsonInSlices,
  type ParsedJson,
} from "./json/json-parse.ts";
export { restoreWritten, withWritten, Written } from "./json/json-literals.ts";
export { fromJson } from "./json/from-json.ts";
export { type StrictFault, strictFaults } from "./json/strict-faults.ts";
export {
  escapedForHtml,
  jsonMembers,
  toJson,
  toJsonInSlices,
  toJsonValue,
  toJsonValueInSlices,
  type TypeMeta,
} from "./json/to-json.ts";
export { fromProtobuf } from "./protobuf/from-protobuf.ts";
export { toProtobuf } from "./protobuf/to-protobuf.ts";
export { WireReader } from "./protobuf/wire-reader.ts";
export { delimitedSize, WireWriter, writeDelimited } from "./protobuf/wire-writer.ts";
export { envelopeAround, unwrapEnvelope, wrapEnvelope } from "./protobuf/envelope.ts";
export { protoText } from "./protobuf/proto-text.ts";
export { applyDefaults } from "./rules/defaults.ts";
export { checkFields } from "./rules/validate.ts";
export { dropGated } from "./rules/gates.ts";
export { checkImmutable } from "./rules/update-rules.ts";
export { mergeRules } from "./rules/merge-rules.ts";
export { fieldNamed, jsonFields, resolved, type JsonField } from "./struct/layout.ts";
export { fieldEquality, semanticEquality } from "./struct/semantic-equality.ts";
export { countValues } from "./struct/weight.ts";
export { arbitrary } from "./arbitrary.ts";
export { openApiV2 } from "./openapi/openapi-v2.ts";
export { openApiV3 } from "./openapi/openapi-v3.ts";
export {
  type GroupVersionKind,
  type OpenApiDefinition,
  openApiDefinitions,
  type OpenApiFold,
  type OpenApiNaming,
  type OpenApiRoot,
  type OpenApiSchema,
  type OpenApiType,
} from "./openapi/openapi.ts";
