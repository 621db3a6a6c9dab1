/** Prints path items as Swagger 2.0 and OpenAPI 3.0. */
import { openApiName } from "#meta";
import type { StructType } from "#schema";
import type { Body, Operation, Parameter, PathItem } from "./operation.ts";

type Json = Record<string, unknown>;

const reasons = { 200: "OK", 201: "Created", 202: "Accepted" } as const;
export const objectMedia = [
  "application/json",
  "application/yaml",
  "application/vnd.kubernetes.protobuf",
];
const streamMedia = [
  "application/json;stream=watch",
  "application/vnd.kubernetes.protobuf;stream=watch",
];

function responseMedia(operation: Operation): readonly string[] {
  if (operation.media !== undefined) return operation.media;
  return operation.streams ? [...objectMedia, ...streamMedia] : objectMedia;
}

function nameOf(struct: StructType<any>): string {
  return openApiName(struct.package, struct.name);
}

/** Members of an operation that are the same in both dialects. */
function common({ about, description, id, tag }: Operation): Json {
  return {
    tags: [tag],
    description,
    operationId: id,
    ...(about === undefined
      ? {}
      : {
          "x-kubernetes-action": about.action,
          "x-kubernetes-group-version-kind": about.kind,
        }),
  };
}

function printPath(
  item: PathItem,
  parameter: (parameter: Parameter) => Json,
  print: (operation: Operation) => Json,
): Json {
  return {
    ...Object.fromEntries(item.operations.map((operation) => [operation.method, print(operation)])),
    ...(item.parameters.length > 0 ? { parameters: item.parameters.map(parameter) } : {}),
  };
}

function responses(operation: Operation, content: Json): Json {
  const codes = operation.codes.map((code) => [
    String(code),
    { description: reasons[code], ...content },
  ]);
  return Object.fromEntries([...codes, ["401", { description: "Unauthorized" }]]);
}

/** A path item of OpenAPI 3.0. */
export function pathV3(item: PathItem): Json {
  return printPath(item, parameterV3, operationV3);
}

function operationV3(operation: Operation): Json {
  const { body, parameters } = operation;
  return {
    ...common(operation),
    ...(parameters.length > 0 ? { parameters: parameters.map(parameterV3) } : {}),
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            content: contentV3(body.media, body.struct),
            ...(body.required ? { required: true } : {}),
          },
        }),
    responses: responses(operation, {
      content: contentV3(responseMedia(operation), operation.response),
    }),
  };
}

function contentV3(media: readonly string[], response: Operation["response"]): Json {
  const content = {
    schema:
      response === "text"
        ? { type: "string" }
        : { $ref: `#/components/schemas/${nameOf(response)}` },
  };
  return Object.fromEntries(media.map((type) => [type, content]));
}

function parameterV3({ name, in: place, description, type }: Parameter): Json {
  const required = place === "path" ? { required: true } : {};
  return { name, in: place, description, ...required, schema: { type, uniqueItems: true } };
}

/** A path item of Swagger 2.0, where the body is a parameter. */
export function pathV2(item: PathItem): Json {
  return printPath(item, parameterV2, operationV2);
}

function operationV2(operation: Operation): Json {
  const { body, parameters, response } = operation;
  const bodyParameters = body === undefined ? [] : [bodyParameterV2(body)];
  const consumes = body?.media ?? operation.consumes ?? ["*/*"];
  const allParameters = [...bodyParameters, ...parameters.map(parameterV2)];
  return {
    ...(consumes.length > 0 ? { consumes } : {}),
    produces: responseMedia(operation),
    schemes: ["https"],
    ...common(operation),
    ...(allParameters.length > 0 ? { parameters: allParameters } : {}),
    responses: responses(operation, { schema: schemaV2(response) }),
  };
}

function bodyParameterV2({ struct, required }: Body): Json {
  const mandatory = required ? { required: true } : {};
  return { name: "body", in: "body", ...mandatory, schema: schemaV2(struct) };
}

function schemaV2(response: Operation["response"]): Json {
  return response === "text" ? { type: "string" } : { $ref: `#/definitions/${nameOf(response)}` };
}

function parameterV2({ name, in: place, description, type }: Parameter): Json {
  const required = place === "path" ? { required: true } : {};
  return { name, in: place, description, ...required, type, uniqueItems: true };
}
