/**
 * Fields of gnostic's openapi.v2 and openapi.v3 messages that the documents of this server and schemas
 * of custom resources use.
 */
import type { Member, Shape } from "./protobuf.ts";

const string: Shape = { tag: "string" };
const bool: Shape = { tag: "bool" };
const int64: Shape = { tag: "int64" };
const double: Shape = { tag: "double" };
const any: Shape = { tag: "any" };

function message(fields: Readonly<Record<string, Member>>, extensions?: number): Shape {
  return { tag: "message", fields, ...(extensions === undefined ? {} : { extensions }) };
}
function named(number: number, value: Shape): Shape {
  return { tag: "named", number, value };
}
function wrapped(number: number, value: Shape): Shape {
  return { tag: "wrapped", number, value };
}
function choice(choose: (value: any) => Member | undefined): Shape {
  return { tag: "choice", choose };
}
function lazy(resolve: () => Shape): Shape {
  return { tag: "lazy", resolve };
}
function elements(number: number, value: Shape): Shape {
  return { tag: "elements", number, value };
}

function isBool(value: unknown): boolean {
  return typeof value === "boolean";
}

const bounds = {
  v2: { multipleOf: 6, maximum: 7, exclusiveMaximum: 8, minimum: 9, exclusiveMinimum: 10 },
  v3: { multipleOf: 10, maximum: 11, exclusiveMaximum: 12, minimum: 13, exclusiveMinimum: 14 },
} as const;

function numericFields(numbers: (typeof bounds)["v2" | "v3"]): Record<string, Member> {
  return {
    multipleOf: [numbers.multipleOf, double],
    maximum: [numbers.maximum, double],
    exclusiveMaximum: [numbers.exclusiveMaximum, bool],
    minimum: [numbers.minimum, double],
    exclusiveMinimum: [numbers.exclusiveMinimum, bool],
  };
}

const schemaV2: Shape = message(
  {
    $ref: [1, string],
    format: [2, string],
    title: [3, string],
    description: [4, string],
    default: [5, any],
    ...numericFields(bounds.v2),
    maxLength: [11, int64],
    minLength: [12, int64],
    pattern: [13, string],
    maxItems: [14, int64],
    minItems: [15, int64],
    uniqueItems: [16, bool],
    maxProperties: [17, int64],
    minProperties: [18, int64],
    required: [19, string],
    enum: [20, any],
    additionalProperties: [21, choice((value) => (isBool(value) ? [2, bool] : [1, schemaV2]))],
    type: [22, elements(1, string)],
    items: [
      23,
      elements(
        1,
        lazy(() => schemaV2),
      ),
    ],
    allOf: [24, lazy(() => schemaV2)],
    properties: [
      25,
      named(
        1,
        lazy(() => schemaV2),
      ),
    ],
  },
  31,
);

const bodyParameterV2 = message({
  description: [1, string],
  name: [2, string],
  in: [3, string],
  required: [4, bool],
  schema: [5, schemaV2],
});
const nonBodyFields = {
  required: [1, bool],
  in: [2, string],
  description: [3, string],
  name: [4, string],
} as const;
const queryParameterV2 = message({ ...nonBodyFields, type: [6, string], uniqueItems: [20, bool] });
const pathParameterV2 = message({ ...nonBodyFields, type: [5, string], uniqueItems: [19, bool] });
const nonBodyParameterV2 = choice(({ in: place }) =>
  place === "path" ? [4, pathParameterV2] : [3, queryParameterV2],
);
const parameterV2 = wrapped(
  1,
  choice(({ in: place }) => (place === "body" ? [1, bodyParameterV2] : [2, nonBodyParameterV2])),
);

const responseV2 = message({ description: [1, string], schema: [2, wrapped(1, schemaV2)] });
const operationV2 = message(
  {
    tags: [1, string],
    description: [3, string],
    operationId: [5, string],
    produces: [6, string],
    consumes: [7, string],
    parameters: [8, parameterV2],
    responses: [9, named(1, wrapped(1, responseV2))],
    schemes: [10, string],
    deprecated: [11, bool],
  },
  13,
);
const pathItemV2 = message({
  get: [2, operationV2],
  put: [3, operationV2],
  post: [4, operationV2],
  delete: [5, operationV2],
  options: [6, operationV2],
  head: [7, operationV2],
  patch: [8, operationV2],
  parameters: [9, parameterV2],
});
const apiKey = message({
  type: [1, string],
  name: [2, string],
  in: [3, string],
  description: [4, string],
});

/** Content of openapi.v2.Paths. */
export const pathsV2: Shape = named(2, pathItemV2);
/** Content of openapi.v2.Definitions. */
export const definitionsV2: Shape = named(1, schemaV2);

/** The message openapi.v2.Document. */
export const documentV2: Shape = message({
  swagger: [1, string],
  info: [2, message({ title: [1, string], version: [2, string] })],
  paths: [8, pathsV2],
  definitions: [9, definitionsV2],
  security: [12, named(1, elements(1, string))],
  securityDefinitions: [13, named(1, wrapped(2, apiKey))],
});

const referenceV3 = message({ $ref: [1, string] });
/** The message openapi.v3.SchemaOrReference. */
const schemaV3: Shape = choice((value) =>
  "$ref" in value ? [2, referenceV3] : [1, inlineSchemaV3],
);
/** The message openapi.v3.DefaultType; it cannot represent `{}`, the default of structs. */
const defaultV3 = choice((value) => {
  if (typeof value === "number") return [1, double];
  if (typeof value === "boolean") return [2, bool];
  return typeof value === "string" ? [3, string] : undefined;
});
const additionalV3 = choice((value) => (isBool(value) ? [2, bool] : [1, schemaV3]));
const inlineSchemaV3: Shape = message(
  {
    nullable: [1, bool],
    title: [9, string],
    ...numericFields(bounds.v3),
    maxLength: [15, int64],
    minLength: [16, int64],
    pattern: [17, string],
    maxItems: [18, int64],
    minItems: [19, int64],
    uniqueItems: [20, bool],
    maxProperties: [21, int64],
    minProperties: [22, int64],
    required: [23, string],
    enum: [24, any],
    type: [25, string],
    allOf: [26, schemaV3],
    oneOf: [27, schemaV3],
    anyOf: [28, schemaV3],
    not: [29, lazy(() => inlineSchemaV3)],
    items: [30, elements(1, schemaV3)],
    properties: [31, named(1, schemaV3)],
    additionalProperties: [32, additionalV3],
    default: [33, defaultV3],
    description: [34, string],
    format: [35, string],
  },
  36,
);

const contentV3 = named(1, message({ schema: [1, schemaV3] }));
const parameterV3 = wrapped(
  1,
  message({
    name: [1, string],
    in: [2, string],
    description: [3, string],
    required: [4, bool],
    schema: [10, schemaV3],
  }),
);
const operationV3 = message(
  {
    tags: [1, string],
    description: [3, string],
    operationId: [5, string],
    parameters: [6, parameterV3],
    requestBody: [7, wrapped(1, message({ content: [2, contentV3], required: [3, bool] }))],
    responses: [
      8,
      named(2, wrapped(1, message({ description: [1, string], content: [3, contentV3] }))),
    ],
    deprecated: [10, bool],
  },
  13,
);
const pathItemV3 = message({
  get: [4, operationV3],
  put: [5, operationV3],
  post: [6, operationV3],
  delete: [7, operationV3],
  options: [8, operationV3],
  head: [9, operationV3],
  patch: [10, operationV3],
  parameters: [13, parameterV3],
});
const securityScheme = message({
  type: [1, string],
  description: [2, string],
  name: [3, string],
  in: [4, string],
});

/** Content of openapi.v3.Paths. */
export const pathsV3: Shape = named(1, pathItemV3);
/** Content of openapi.v3.SchemasOrReferences. */
export const schemasV3: Shape = named(1, schemaV3);

/** The message openapi.v3.Components. */
export const componentsV3: Shape = message({
  schemas: [1, schemasV3],
  securitySchemes: [7, named(1, wrapped(1, securityScheme))],
});

/** The message openapi.v3.Document. */
export const documentV3: Shape = message({
  openapi: [1, string],
  info: [2, message({ title: [1, string], version: [6, string] })],
  paths: [4, pathsV3],
  components: [5, componentsV3],
});
