/** The schemas of custom resources: a struct that contains itself, and the unions inside it. */
import { isJsonObject } from "#base";
import {
  required,
  bool,
  bytes,
  double,
  fromJson,
  int64,
  lazy,
  list,
  map,
  named,
  pointer,
  value,
  scalar,
  ScalarFault,
  type ScalarType,
  string,
  structs,
  type StructType,
} from "#schema";
import { rawExtension } from "#meta";
import type { JsonSchema } from "#structural";

const PACKAGE = "apiextensions-apiserver/pkg/apis/apiextensions/v1";
const v1 = structs(PACKAGE);

const recursive = lazy<JsonSchema>((): StructType<any> => jsonSchemaProps);

const decoded = (value: object): JsonSchema => fromJson(jsonSchemaProps, value) as JsonSchema;

/** Any JSON value. */
const json: ScalarType<unknown> = scalar<unknown>({
  ...rawExtension,
  name: "JSON",
  package: PACKAGE,
  wire: v1("JSON", "A JSON value of any kind.", {
    raw: pointer(1, bytes, "The value as JSON text."),
  }),
  openapi: {},
});

const union = { package: PACKAGE, openapi: {}, zero: null, keptWhenEmpty: true } as const;

const OR_LIST = "A schema, or a list of schemas.";

const jsonSchemaPropsOrArray = scalar<NonNullable<JsonSchema["items"]> | null>({
  ...union,
  name: "JSONSchemaPropsOrArray",
  doc: OR_LIST,
  fromJson: (value) => {
    if (Array.isArray(value)) return value.map((each) => decoded(each ?? {}));
    return typeof value === "object" && value !== null ? decoded(value) : null;
  },
  wire: v1("JSONSchemaPropsOrArray", OR_LIST, {
    schema: pointer(1, recursive, "The schema."),
    jSONSchemas: value(2, list(recursive), "The schemas."),
  }),
  toWire: (value) => (Array.isArray(value) ? { jSONSchemas: value } : { schema: value }),
  fromWire: (message: { schema?: JsonSchema; jSONSchemas?: JsonSchema[] }) =>
    message.jSONSchemas ?? message.schema ?? null,
});

const OR_BOOL = "A schema, or whether anything is allowed.";

const jsonSchemaPropsOrBool = scalar<JsonSchema | boolean>({
  ...union,
  name: "JSONSchemaPropsOrBool",
  doc: OR_BOOL,
  fromJson: (value) => {
    if (typeof value === "boolean") return value;
    if (isJsonObject(value)) return decoded(value);
    throw new ScalarFault("boolean or JSON schema expected");
  },
  wire: v1("JSONSchemaPropsOrBool", OR_BOOL, {
    allows: value(1, bool, "Whether anything is allowed."),
    schema: pointer(2, recursive, "The schema."),
  }),
  toWire: (value) =>
    typeof value === "boolean" ? { allows: value } : { allows: true, schema: value },
  fromWire: (message: { allows?: boolean; schema?: JsonSchema }) =>
    message.schema ?? message.allows ?? false,
});

const OR_NAMES = "A schema, or a list of property names.";

const jsonSchemaPropsOrStringArray = scalar<JsonSchema | readonly string[] | null>({
  ...union,
  name: "JSONSchemaPropsOrStringArray",
  doc: OR_NAMES,
  fromJson: (value) => {
    if (Array.isArray(value)) return fromJson(names, { property: value }).property ?? null;
    return typeof value === "object" && value !== null ? decoded(value) : null;
  },
  wire: v1("JSONSchemaPropsOrStringArray", OR_NAMES, {
    schema: pointer(1, recursive, "The schema."),
    property: value(2, list(string), "The names."),
  }),
  toWire: (value) => (Array.isArray(value) ? { property: value } : { schema: value }),
  fromWire: (message: { schema?: JsonSchema; property?: string[] }) =>
    message.property ?? message.schema ?? null,
});

const names = v1("JSONSchemaPropsOrStringArray", OR_NAMES, {
  property: value(2, list(string), "The names."),
});

const externalDocumentation = v1("ExternalDocumentation", "Where more is written.", {
  description: value(1, string, "What is written there."),
  url: value(2, string, "Its address."),
});

const validationRule = v1("ValidationRule", "A rule in CEL that values must meet.", {
  rule: required(1, string, "Must be true of `self`, the value; `oldSelf` is the one before."),
  message: value(2, string, "What clients are told otherwise."),
  messageExpression: value(3, string, "The message as an expression, instead of `message`."),
  reason: pointer(
    4,
    named(
      "v1.FieldValueErrorReason",
      "FieldValueRequired",
      "FieldValueDuplicate",
      "FieldValueInvalid",
      "FieldValueForbidden",
    ),
    "Reason of the cause that clients are told.",
  ),
  fieldPath: value(5, string, "The field below that is to blame, as in `.spec.size`."),
  optionalOldSelf: pointer(
    6,
    bool,
    "True = the rule runs on creation, too, and `oldSelf` is an optional value.",
  ),
});

const atomic = { listType: "atomic" } as const;
const typeDoc = "Type: object, array, string, integer, number or boolean.";

export const jsonSchemaProps: StructType<any> = v1("JSONSchemaProps", "A schema of JSON values.", {
  id: value(1, string, "Unsupported."),
  $schema: value(2, string, "The dialect.", { protoName: "schema" }),
  $ref: pointer(3, string, "Unsupported.", { protoName: "ref" }),
  description: value(4, string, "What the value means, for `kubectl explain`."),
  type: value(5, string, typeDoc),
  format: value(6, string, "What the text looks like, as in date-time; unknown ones are ignored."),
  title: value(7, string, "A heading."),
  default: pointer(8, json, "Value that is filled in when the field is absent."),
  maximum: pointer(9, double, "Greatest number."),
  exclusiveMaximum: value(10, bool, "True = less than the maximum."),
  minimum: pointer(11, double, "Least number."),
  exclusiveMinimum: value(12, bool, "True = more than the minimum."),
  maxLength: pointer(13, int64, "Most characters of a text."),
  minLength: pointer(14, int64, "Fewest characters of a text."),
  pattern: value(15, string, "Regular expression (RE2) that must match somewhere in a text."),
  maxItems: pointer(16, int64, "Most elements of an array."),
  minItems: pointer(17, int64, "Fewest elements of an array."),
  uniqueItems: value(18, bool, "Must not be true; see x-kubernetes-list-type."),
  multipleOf: pointer(19, double, "The number is a multiple of this."),
  enum: value(20, list(json), "The allowed values.", atomic),
  maxProperties: pointer(21, int64, "Most properties of an object."),
  minProperties: pointer(22, int64, "Fewest properties of an object."),
  required: value(23, list(string), "Properties that must be there.", atomic),
  items: pointer(24, jsonSchemaPropsOrArray, "Schema of the elements of an array."),
  allOf: value(25, list(recursive), "All of these must hold.", atomic),
  oneOf: value(26, list(recursive), "Exactly one of these must hold.", atomic),
  anyOf: value(27, list(recursive), "At least one of these must hold.", atomic),
  not: pointer(28, recursive, "This must not hold."),
  properties: value(29, map(recursive), "Schemas of the properties of an object, by name."),
  additionalProperties: pointer(
    30,
    jsonSchemaPropsOrBool,
    "Schema of the values of a map; excludes properties.",
  ),
  patternProperties: value(31, map(recursive), "Unsupported."),
  dependencies: value(32, map(jsonSchemaPropsOrStringArray), "Unsupported."),
  additionalItems: pointer(33, jsonSchemaPropsOrBool, "Unsupported."),
  definitions: value(34, map(recursive), "Unsupported."),
  externalDocs: pointer(35, externalDocumentation, "Where more is written."),
  example: pointer(36, json, "An example."),
  nullable: value(37, bool, "True = null is a value, too."),
  "x-kubernetes-preserve-unknown-fields": pointer(
    38,
    bool,
    "True = fields that the schema does not know are kept.",
    { protoName: "xKubernetesPreserveUnknownFields" },
  ),
  "x-kubernetes-embedded-resource": value(
    39,
    bool,
    "True = the value is an object with apiVersion, kind and metadata.",
    { protoName: "xKubernetesEmbeddedResource" },
  ),
  "x-kubernetes-int-or-string": value(40, bool, "True = the value is an integer or a text.", {
    protoName: "xKubernetesIntOrString",
  }),
  "x-kubernetes-list-map-keys": value(
    41,
    list(string),
    "Properties that tell the elements of a list of type map apart.",
    { ...atomic, protoName: "xKubernetesListMapKeys" },
  ),
  "x-kubernetes-list-type": pointer(42, string, "How lists are merged: atomic, set or map.", {
    protoName: "xKubernetesListType",
  }),
  "x-kubernetes-map-type": pointer(43, string, "How maps are merged: granular or atomic.", {
    protoName: "xKubernetesMapType",
  }),
  "x-kubernetes-validations": value(44, list(validationRule), "Rules in CEL.", {
    listType: "map",
    listMapKeys: ["rule"],
    patchStrategy: ["merge"],
    patchMergeKey: "rule",
    protoName: "xKubernetesValidations",
  }),
});
