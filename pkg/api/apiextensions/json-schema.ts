/** JSONSchemaProps, the recursive struct of OpenAPI schemas, and its union types. */
import { isJsonObject } from "#base";
import {
  required,
  bool,
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
  textBytes,
  mergedBy,
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
    raw: pointer(1, textBytes, "Text of the JSON value."),
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

const externalDocumentation = v1("ExternalDocumentation", "Reference to external documentation.", {
  description: value(1, string, "Human-readable description of the documentation."),
  url: value(2, string, "URL of the documentation."),
});

const validationRule = v1(
  "ValidationRule",
  "CEL validation rule for the value at its position in the schema.",
  {
    rule: required(
      1,
      string,
      "CEL expression that must evaluate to true. `self` is the value, `oldSelf` its existing " +
        "value: rules that use it are only evaluated on updates.",
    ),
    message: value(
      2,
      string,
      "Message for the client if the rule fails. Required if the rule contains line breaks. " +
        "Defaults to `failed rule: <rule>`.",
    ),
    messageExpression: value(
      3,
      string,
      "CEL expression that evaluates to the message, with the variables of the rule. Takes " +
        "precedence over message, which is used if the expression fails.",
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
      "Machine-readable reason of the failure: one of FieldValueRequired, FieldValueDuplicate, " +
        "FieldValueInvalid, FieldValueForbidden. Defaults to FieldValueInvalid.",
    ),
    fieldPath: value(
      5,
      string,
      "Path of the field that the failure is reported for, relative to the rule, for example " +
        "`.spec.size`. Must exist in the schema. Defaults to the location of the rule.",
    ),
    optionalOldSelf: pointer(
      6,
      bool,
      "Whether a rule with `oldSelf` is also evaluated if there is no existing value: " +
        "`oldSelf` is then a CEL optional. Defaults to false.",
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
  "JSON schema of a value, as in OpenAPI v3 and with Kubernetes extensions.",
  {
    id: value(1, string, "Identifier of the schema. Not supported: must be empty."),
    $schema: value(2, string, "URI of the JSON schema dialect. Ignored.", {
      protoName: "schema",
    }),
    $ref: pointer(3, string, "Reference to another schema. Not supported: must be absent.", {
      protoName: "ref",
    }),
    description: value(
      4,
      string,
      "Human-readable description of the value, which `kubectl explain` shows.",
    ),
    type: value(5, string, typeDoc),
    format: value(
      6,
      string,
      "Format of a string or number, for example date-time, duration, ipv4 or uuid. Unknown " +
        "formats are ignored.",
    ),
    title: value(7, string, "Human-readable title of the value."),
    default: pointer(
      8,
      json,
      "Default that the API server sets if the field is absent. Must be valid under this schema.",
    ),
    maximum: pointer(9, double, "Maximum of a number, inclusive unless exclusiveMaximum is true."),
    exclusiveMaximum: value(
      10,
      bool,
      "Whether the number must be less than maximum. Defaults to false.",
    ),
    minimum: pointer(11, double, "Minimum of a number, inclusive unless exclusiveMinimum is true."),
    exclusiveMinimum: value(
      12,
      bool,
      "Whether the number must be greater than minimum. Defaults to false.",
    ),
    maxLength: pointer(13, int64, "Maximum length of a string, in characters."),
    minLength: pointer(14, int64, "Minimum length of a string, in characters."),
    pattern: value(
      15,
      string,
      "Regular expression in RE2 syntax that a string must match in some part. To match the " +
        "whole string, anchor it with ^ and $.",
    ),
    maxItems: pointer(16, int64, "Maximum number of elements in an array."),
    minItems: pointer(17, int64, "Minimum number of elements in an array."),
    uniqueItems: value(
      18,
      bool,
      "Not supported: must not be true. Use x-kubernetes-list-type `set` instead.",
    ),
    multipleOf: pointer(19, double, "Number of which the value must be an integer multiple."),
    enum: value(20, list(json), "Allowed values, of any JSON type.", atomic),
    maxProperties: pointer(21, int64, "Maximum number of properties in an object."),
    minProperties: pointer(22, int64, "Minimum number of properties in an object."),
    required: value(23, list(string), "Names of the properties that an object must have.", atomic),
    items: pointer(
      24,
      jsonSchemaPropsOrArray,
      "Schema of the elements of an array. Lists of schemas are not supported.",
      bare,
    ),
    allOf: value(
      25,
      list(recursive),
      "Schemas that must all match the value. They must not specify type, description, default " +
        "or the like.",
      atomic,
    ),
    oneOf: value(26, list(recursive), "Schemas of which exactly one must match the value.", atomic),
    anyOf: value(
      27,
      list(recursive),
      "Schemas of which at least one must match the value.",
      atomic,
    ),
    not: pointer(28, recursive, "Schema that must not match the value.", bare),
    properties: value(
      29,
      map(recursive),
      "Schemas of the named properties of an object. Mutually exclusive with additionalProperties.",
    ),
    additionalProperties: pointer(
      30,
      jsonSchemaPropsOrBool,
      "Schema of the values of a map, or true for any values. Mutually exclusive with properties.",
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
      "Dependencies of properties on others. Not supported: must be empty.",
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
    externalDocs: pointer(35, externalDocumentation, "External documentation of the value.", bare),
    example: pointer(36, json, "Example of a valid value.", bare),
    nullable: value(
      37,
      bool,
      "Whether null is a valid value. Otherwise nulls are pruned before defaulting. Defaults " +
        "to false.",
    ),
    "x-kubernetes-preserve-unknown-fields": pointer(
      38,
      bool,
      "Whether fields that the schema does not specify are preserved instead of pruned. Either " +
        "true or absent.",
      { protoName: "xKubernetesPreserveUnknownFields" },
    ),
    "x-kubernetes-embedded-resource": value(
      39,
      bool,
      "Whether the value is an embedded Kubernetes object, with apiVersion, kind and metadata, " +
        "which are then validated and preserved. Defaults to false.",
      { protoName: "xKubernetesEmbeddedResource" },
    ),
    "x-kubernetes-int-or-string": value(
      40,
      bool,
      "Whether both integers and strings are valid values. type must then be absent. Defaults " +
        "to false.",
      {
        protoName: "xKubernetesIntOrString",
      },
    ),
    "x-kubernetes-list-map-keys": value(
      41,
      list(string),
      "Names of the properties that are the keys of elements. Only for x-kubernetes-list-type " +
        "`map`, where it is required. The properties must be scalars.",
      { ...atomic, protoName: "xKubernetesListMapKeys" },
    ),
    "x-kubernetes-list-type": pointer(
      42,
      string,
      "List type of an array, for validation and server-side apply. One of atomic (replaced as " +
        "a whole), set (unique scalars), map (elements identified by the keys in " +
        "x-kubernetes-list-map-keys). Defaults to atomic.",
      {
        protoName: "xKubernetesListType",
      },
    ),
    "x-kubernetes-map-type": pointer(
      43,
      string,
      "Map type of an object, for server-side apply. One of granular (each field has its own " +
        "managers), atomic (replaced as a whole). Defaults to granular.",
      {
        protoName: "xKubernetesMapType",
      },
    ),
    "x-kubernetes-validations": value(
      44,
      list(validationRule),
      "CEL validation rules for the value.",
      {
        ...mergedBy("rule"),
        protoName: "xKubernetesValidations",
      },
    ),
  },
);
