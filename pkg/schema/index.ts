/** schema: the schema language and its folds, one per file. */
export type * from "./types.ts";
export * from "./declare.ts";
export { Path, Problems, type FieldProblem, type ProblemType } from "./problems.ts";
export { ScalarFault } from "./scalar-fault.ts";
export { DecodeFault, JsonFault } from "./faults.ts";
export { parseJson, type ParsedJson } from "./json-parse.ts";
export { fromJson, type FromJsonOptions } from "./from-json.ts";
export { escapedForHtml, toJson, toJsonValue, type TypeMeta } from "./to-json.ts";
export { fromProtobuf, toProtobuf } from "./protobuf.ts";
export { unwrapEnvelope, wrapEnvelope, type Envelope } from "./protobuf-envelope.ts";
export { protoText, type ProtoTextOptions } from "./proto-text.ts";
export { applyDefaults } from "./defaults.ts";
export { checkFields } from "./validate.ts";
export { checkImmutable } from "./update-rules.ts";
export { mergeRules, type MergeRules } from "./merge-rules.ts";
export { fieldNamed, jsonFields, resolved, type JsonField } from "./layout.ts";
export { arbitrary } from "./arbitrary.ts";
