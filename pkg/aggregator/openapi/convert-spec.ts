/** Converts the subset of Swagger 2.0 that Kubernetes' documents use to OpenAPI 3. */
import { createHash } from "node:crypto";
import { isJsonObject, type JsonObject, yieldEvery, printJson } from "#base";
import { parseExactJson } from "#schema";
import type { RemoteSpec } from "./remote-spec.ts";

interface ConvertedSpec {
  readonly text: Buffer;
  /** SHA-512 of the text, upper-case hexadecimal. */
  readonly hash: string;
}

/** Yields between members: a document may have thousands of paths. */
export async function convertSpec({ paths, definitions }: RemoteSpec): Promise<ConvertedSpec> {
  const maybeYield = yieldEvery();
  const hash = createHash("sha512");
  const pieces: Buffer[] = [];
  const write = (text: string) => {
    const piece = Buffer.from(text);
    hash.update(piece);
    pieces.push(piece);
  };
  const members = async (
    all: ReadonlyMap<string, string>,
    convert: (value: unknown) => unknown,
  ) => {
    let separator = "";
    for (const name of [...all.keys()].sort()) {
      const value = convert(parseExactJson(all.get(name)!));
      write(`${separator}${printJson(name)}:${printJson(value)}`);
      separator = ",";
      await maybeYield();
    }
  };
  write('{"openapi":"3.0.0","info":{"title":"Kubernetes","version":"unversioned"},"paths":{');
  await members(paths, pathItem);
  write('},"components":{"schemas":{');
  await members(definitions, schema);
  write("}}}");
  return { text: Buffer.concat(pieces), hash: hash.digest("hex").toUpperCase() };
}

function pathItem(value: unknown): unknown {
  const { parameters, ...operations } = objectOf(value);
  const entries = Object.entries(operations).map(([name, each]) => [
    name,
    isJsonObject(each) ? operation(each) : each,
  ]);
  const shared = listOf(parameters).filter((each) => !isBody(each));
  return {
    ...(Object.fromEntries(entries) as JsonObject),
    ...(shared.length > 0 ? { parameters: shared.map(parameter) } : {}),
  };
}

function operation(from: JsonObject): JsonObject {
  const { consumes, produces, schemes: _schemes, parameters, responses, ...rest } = from;
  const all = listOf(parameters);
  const body = all.find(isBody);
  const others = all.filter((each) => !isBody(each)).map(parameter);
  return {
    ...rest,
    ...(others.length > 0 ? { parameters: others } : {}),
    ...(body === undefined ? {} : { requestBody: requestBody(body, listOf(consumes)) }),
    responses: Object.fromEntries(
      Object.entries(objectOf(responses)).map(([code, each]) => [code, response(each, produces)]),
    ),
  };
}

function requestBody(body: JsonObject, consumes: readonly unknown[]): JsonObject {
  const { description, required } = body;
  return {
    ...(description === undefined ? {} : { description }),
    content: content(body["schema"], consumes),
    ...(required === true ? { required } : {}),
  };
}

function response(value: unknown, produces: unknown): JsonObject {
  const { schema: of, ...rest } = objectOf(value);
  return of === undefined ? rest : { ...rest, content: content(of, listOf(produces)) };
}

function content(of: unknown, types: readonly unknown[]): JsonObject {
  const names = types.length === 0 ? ["*/*"] : types.map(String);
  return Object.fromEntries(names.map((name) => [name, { schema: schema(of) }]));
}

function parameter(value: unknown): JsonObject {
  const { name, in: place, description, required, ...rest } = objectOf(value);
  return {
    name,
    in: place,
    ...(description === undefined ? {} : { description }),
    ...(required === true ? { required } : {}),
    schema: schema(rest),
  };
}

const definitionPrefix = "#/definitions/";

/** The schema with `#/definitions/` references rewritten to `#/components/schemas/`. */
function schema(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(schema);
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value).map(([key, each]) => {
    const isReference = key === "$ref" && typeof each === "string";
    if (!isReference || !each.startsWith(definitionPrefix)) return [key, schema(each)];
    return [key, `#/components/schemas/${each.slice(definitionPrefix.length)}`];
  });
  return Object.fromEntries(entries) as JsonObject;
}

function isBody(value: unknown): value is JsonObject {
  return isJsonObject(value) && value["in"] === "body";
}

function objectOf(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
