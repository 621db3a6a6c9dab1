/** JSONSchemaProps, the recursive struct of OpenAPI schemas, and its union types. */
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

const goPackage = "apiextensions-apiserver/pkg/apis/apiextensions/v1";
const v1 = structs(goPackage);

const recursive = lazy<JsonSchema>((): StructType<any> => jsonSchemaProps);

const decoded = (value: object): JsonSchema => fromJson(jsonSchemaProps, value) as JsonSchema;

/** Any JSON value. */
const json: ScalarType<unknown> = scalar<unknown>({
  ...rawExtension,
  name: "JSON",
  package: goPackage,
  wire: v1("JSON", "Arbitrary JSON value: object, array, string, number, boolean or null.", {
    raw: pointer(1, bytes, "Text of the JSON value."),
  }),
  openapi: {},
});

const union = { package: goPackage, openapi: {}, zero: null, keptWhenEmpty: true } as const;

const schemaOrListText = "Either one schema, or a list of schemas.";

const jsonSchemaPropsOrArray = scalar<NonNullable<JsonSchema["items"]> | null>({
  ...union,
  name: "JSONSchemaPropsOrArray",
  doc: schemaOrListText,
  fromJson: (value) => {
    if (Array.isArray(value)) return value.map((each) => decoded(each ?? {}));
    return typeof value === "object" && value !== null ? decoded(value) : null;
  },
  wire: v1("JSONSchemaPropsOrArray", schemaOrListText, {
    schema: pointer(1, recursive, "Schema for every element."),
    jSONSchemas: value(2, list(recursive), "Schemas by the position of the element."),
  }),
  toWire: (value) => (Array.isArray(value) ? { jSONSchemas: value } : { schema: value }),
  fromWire: (message: { schema?: JsonSchema; jSONSchemas?: JsonSchema[] }) =>
    message.jSONSchemas ?? message.schema ?? null,
});

const schemaOrBoolText = "Either a schema, or a boolean that allows or forbids every value.";

const jsonSchemaPropsOrBool = scalar<JsonSchema | boolean>({
  ...union,
  name: "JSONSchemaPropsOrBool",
  doc: schemaOrBoolText,
  fromJson: (value) => {
    if (typeof value === "boolean") return value;
    if (isJsonObject(value)) return decoded(value);
    throw new ScalarFault("boolean or JSON schema expected");
  },
  wire: v1("JSONSchemaPropsOrBool", schemaOrBoolText, {
    allows: value(1, bool, "Whether every value is allowed."),
    schema: pointer(2, recursive, "Schema that values must match."),
  }),
  toWire: (value) =>
    typeof value === "boolean" ? { allows: value } : { allows: true, schema: value },
  fromWire: (message: { allows?: boolean; schema?: JsonSchema }) =>
    message.schema ?? message.allows ?? false,
});

const schemaOrNamesText = "Either a schema, or a list of property names.";

const jsonSchemaPropsOrStringArray = scalar<JsonSchema | readonly string[] | null>({
  ...union,
  name: "JSONSchemaPropsOrStringArray",
  doc: schemaOrNamesText,
  fromJson: (value) => {
    if (Array.isArray(value)) return fromJson(names, { property: value }).property ?? null;
    return typeof value === "object" && value !== null ? decoded(value) : null;
  },
  wire: v1("JSONSchemaPropsOrStringArray", schemaOrNamesText, {
    schema: pointer(1, recursive, "Schema that the object must match."),
    property: value(2, list(string), "Names of properties that must be present."),
  }),
  toWire: (value) => (Array.isArray(value) ? { property: value } : { schema: value }),
  fromWire: (message: { schema?: JsonSchema; property?: string[] }) =>
    message.property ?? message.schema ?? null,
});

const names = v1("JSONSchemaPropsOrStringArray", schemaOrNamesText, {
  property: value(2, list(string), "Names of properties that must be present."),
});

const externalDocumentation = v1(
  "ExternalDocumentation",
  "Link to documentation outside the schema.",
  {
    description: value(1, string, "Human-readable description of the target."),
    url: value(2, string, "Address of the documentation."),
  },
);

const validationRule = v1(
  "ValidationRule",
  "Validation rule in CEL that applies to the value at its position in the schema.",
  {
    rule: required(
      1,
      string,
      "CEL expression that must evaluate to true. `self` is the value; a rule that uses " +
        "`oldSelf` runs only on updates.",
    ),
    message: value(
      2,
      string,
      "Message for the client when the rule fails. Required if the rule contains line " +
        "breaks. Defaults to the text of the rule.",
    ),
    messageExpression: value(
      3,
      string,
      "CEL expression that produces the message, with access to the same variables as the " +
        "rule. Takes precedence over message; if it fails, message is used.",
    ),
    reason: pointer(
      4,
      named(
        "v1.FieldValueErrorReason",
        "FieldValueRequired",
        "FieldValueDuplicate",
        "FieldValueInvalid",
        "FieldValueForbidden",
      ),
      "Reason code of the failure: one of FieldValueRequired, FieldValueDuplicate, " +
        "FieldValueInvalid, FieldValueForbidden. Defaults to FieldValueInvalid.",
    ),
    fieldPath: value(
      5,
      string,
      "Relative JSON path of the field to blame, for example `.spec.size`. It must exist in " +
        "the schema. Defaults to the position of the rule.",
    ),
    optionalOldSelf: pointer(
      6,
      bool,
      "Whether a rule with `oldSelf` also runs on creation, where `oldSelf` is then an " +
        "optional value without content. Defaults to false.",
    ),
  },
);

const atomic = { listType: "atomic" } as const;
/** Kubernetes publishes these fields as a plain $ref, without a description. */
const bare = { openApi: { bareReference: true } } as const;
const typeDoc =
  "Type of the value: one of object, array, string, integer, number, boolean. Required " +
  "unless x-kubernetes-int-or-string or x-kubernetes-preserve-unknown-fields is set.";

export const jsonSchemaProps: StructType<any> = v1(
  "JSONSchemaProps",
  "JSON schema (OpenAPI v3, with extensions of Kubernetes) of one value.",
  {
    id: value(1, string, "Identifier of the schema. Not supported: must be empty."),
    $schema: value(2, string, "URI of the JSON schema dialect. Not evaluated.", {
      protoName: "schema",
    }),
    $ref: pointer(3, string, "Reference to another schema. Not supported: must be absent.", {
      protoName: "ref",
    }),
    description: value(
      4,
      string,
      "Human-readable description of the value, shown by `kubectl explain`.",
    ),
    type: value(5, string, typeDoc),
    format: value(
      6,
      string,
      "Format of a string or number: date, date-time, duration, ipv4, uuid and others are " +
        "checked; unknown formats are ignored.",
    ),
    title: value(7, string, "Human-readable heading of the value."),
    default: pointer(
      8,
      json,
      "Value that the API server fills in when the field is absent. Must be valid under this " +
        "schema.",
    ),
    maximum: pointer(
      9,
      double,
      "Largest number allowed, inclusive unless exclusiveMaximum is true.",
    ),
    exclusiveMaximum: value(
      10,
      bool,
      "Whether the number must be less than maximum. Defaults to false.",
    ),
    minimum: pointer(
      11,
      double,
      "Smallest number allowed, inclusive unless exclusiveMinimum is true.",
    ),
    exclusiveMinimum: value(
      12,
      bool,
      "Whether the number must be greater than minimum. Defaults to false.",
    ),
    maxLength: pointer(13, int64, "Greatest length of a string, in characters."),
    minLength: pointer(14, int64, "Smallest length of a string, in characters."),
    pattern: value(
      15,
      string,
      "Regular expression in RE2 syntax that must match some part of a string. Anchor it " +
        "with ^ and $ to match all.",
    ),
    maxItems: pointer(16, int64, "Largest number of elements in an array."),
    minItems: pointer(17, int64, "Smallest number of elements in an array."),
    uniqueItems: value(18, bool, "Must not be true. Use x-kubernetes-list-type `set` instead."),
    multipleOf: pointer(19, double, "Number that the value must be an integer multiple of."),
    enum: value(20, list(json), "Values that are allowed, of any JSON type.", atomic),
    maxProperties: pointer(21, int64, "Largest number of properties in an object."),
    minProperties: pointer(22, int64, "Smallest number of properties in an object."),
    required: value(23, list(string), "Names of the properties that an object must have.", atomic),
    items: pointer(
      24,
      jsonSchemaPropsOrArray,
      "Schema of the elements of an array. A list of schemas is not supported.",
      bare,
    ),
    allOf: value(
      25,
      list(recursive),
      "Schemas that the value must all match. They must not declare types or properties of " +
        "their own.",
      atomic,
    ),
    oneOf: value(26, list(recursive), "Schemas of which the value must match exactly one.", atomic),
    anyOf: value(
      27,
      list(recursive),
      "Schemas of which the value must match at least one.",
      atomic,
    ),
    not: pointer(28, recursive, "Schema that the value must not match.", bare),
    properties: value(
      29,
      map(recursive),
      "Schemas of the named properties of an object. Mutually exclusive with additionalProperties.",
    ),
    additionalProperties: pointer(
      30,
      jsonSchemaPropsOrBool,
      "Schema of all values of a map, or true for any value. Mutually exclusive with properties.",
      bare,
    ),
    patternProperties: value(
      31,
      map(recursive),
      "Schemas of properties by pattern. Not supported: must be empty.",
    ),
    dependencies: value(
      32,
      map(jsonSchemaPropsOrStringArray),
      "Dependencies between properties. Not supported: must be empty.",
    ),
    additionalItems: pointer(
      33,
      jsonSchemaPropsOrBool,
      "Schema of elements beyond those in items. Not supported: must be absent.",
      bare,
    ),
    definitions: value(
      34,
      map(recursive),
      "Named schemas for use in $ref. Not supported: must be empty.",
    ),
    externalDocs: pointer(35, externalDocumentation, "Documentation outside the schema.", bare),
    example: pointer(36, json, "Example of a valid value.", bare),
    nullable: value(
      37,
      bool,
      "Whether null is allowed. Otherwise a null value is replaced by the default, or " +
        "removed. Defaults to false.",
    ),
    "x-kubernetes-preserve-unknown-fields": pointer(
      38,
      bool,
      "Whether fields that the schema does not specify are kept instead of pruned. True or absent.",
      { protoName: "xKubernetesPreserveUnknownFields" },
    ),
    "x-kubernetes-embedded-resource": value(
      39,
      bool,
      "Whether the value is a complete Kubernetes object: apiVersion, kind and metadata are " +
        "then validated and kept. Defaults to false.",
      { protoName: "xKubernetesEmbeddedResource" },
    ),
    "x-kubernetes-int-or-string": value(
      40,
      bool,
      "Whether the value is an integer or a string; type must then be absent. Defaults to false.",
      {
        protoName: "xKubernetesIntOrString",
      },
    ),
    "x-kubernetes-list-map-keys": value(
      41,
      list(string),
      "Names of the properties that identify an element. Required for x-kubernetes-list-type " +
        "`map`, for which the properties must be scalars.",
      { ...atomic, protoName: "xKubernetesListMapKeys" },
    ),
    "x-kubernetes-list-type": pointer(
      42,
      string,
      "How server-side apply merges an array. One of atomic (as a whole), set (by unique " +
        "scalar), map (by the keys in x-kubernetes-list-map-keys). Defaults to atomic.",
      {
        protoName: "xKubernetesListType",
      },
    ),
    "x-kubernetes-map-type": pointer(
      43,
      string,
      "How server-side apply merges an object. One of granular (each field has its own " +
        "manager), atomic (as a whole). Defaults to granular.",
      {
        protoName: "xKubernetesMapType",
      },
    ),
    "x-kubernetes-validations": value(
      44,
      list(validationRule),
      "CEL rules that the value must fulfil.",
      {
        listType: "map",
        listMapKeys: ["rule"],
        patchStrategy: ["merge"],
        patchMergeKey: "rule",
        protoName: "xKubernetesValidations",
      },
    ),
  },
);
