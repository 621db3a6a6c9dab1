/**
 * Assembles Swagger 2.0 and OpenAPI 3.0 documents from entries: the members of `paths` and of the
 * schemas. Entries are cached as text, so a change of one kind prints only that kind.
 */
import { isJsonObject, printJson } from "#base";
import { type Catalog, openApiName } from "#meta";
import {
  type OpenApiFold,
  type OpenApiRoot,
  type OpenApiSchema,
  type OpenApiType,
  openApiV2,
  openApiV3,
  parseExactJson,
} from "#schema";
import type { PathItem } from "./operation.ts";
import { pathV2, pathV3 } from "./printing.ts";
import { encodeMessage, lengthDelimited, type Shape } from "./protobuf.ts";
import {
  componentsV3,
  definitionsV2,
  documentV2,
  documentV3,
  pathsV2,
  pathsV3,
  schemasV3,
} from "./shapes.ts";

/** A member of `paths` or of the schemas of a document. */
export class Entry {
  /** JSON of the member: `"name":{…}`. */
  readonly json: Uint8Array;
  private encoded: Uint8Array | undefined;
  private found: string | undefined;

  /** `value` is an object or its compact JSON. */
  constructor(
    readonly name: string,
    value: object | string,
    private readonly shape: Shape,
  ) {
    const text = typeof value === "string" ? value : printJson(value);
    this.json = Buffer.from(`${printJson(name)}:${text}`);
  }

  /** Compact JSON of the value. */
  get valueText(): string {
    const keyBytes = Buffer.byteLength(JSON.stringify(this.name)) + 1;
    return Buffer.from(this.json.subarray(keyBytes)).toString();
  }

  /** Why the value is not that of its kind, but an opaque object. */
  get fault(): string | undefined {
    return this.found;
  }

  /** The member as a Protobuf field; cached. */
  encode(): Uint8Array {
    return (this.encoded ??= encodeMessage(this.shape, parseExactJson(`{${this.json}}`)));
  }

  /** The entry of a definition that cannot be printed: others must be served in spite of it. */
  static opaque(name: string, shape: Shape, error: unknown): Entry {
    const entry = new Entry(name, { type: "object", [preservesUnknown]: true }, shape);
    entry.found = `${name}: ${error instanceof Error ? error.message : String(error)}`;
    return entry;
  }
}

const preservesUnknown = "x-kubernetes-preserve-unknown-fields";

/** An entry of an aggregated server; Protobuf omits it if it has a value of an unexpected type. */
export class RemoteEntry extends Entry {
  override encode(): Uint8Array {
    try {
      return super.encode();
    } catch {
      return new Uint8Array();
    }
  }
}

/** The entry of a schema, and the types that the schema refers to. */
export interface DefinedEntry {
  readonly entry: Entry;
  readonly refersTo: readonly OpenApiType[];
}

/** Contents of a document; entries are sorted by name. */
export interface DocumentEntries {
  readonly info: { readonly title: string; readonly version: string };
  readonly paths: readonly Entry[];
  readonly schemas: readonly Entry[];
}

export interface Dialect {
  readonly version: "v2" | "v3";
  readonly path: (item: PathItem) => Entry;
  readonly define: (type: OpenApiType, root: OpenApiRoot | undefined) => DefinedEntry;
  /** JSON of the document, in chunks. */
  readonly json: (entries: DocumentEntries) => Uint8Array[];
  /** gnostic's Document message, in chunks. */
  readonly protobuf: (entries: DocumentEntries) => Uint8Array[];
}

const bearerToken = {
  type: "apiKey",
  in: "header",
  name: "authorization",
  description: "Bearer token: `Authorization: Bearer <token>`.",
};
const comma = Buffer.from(",");

function joinMembers(entries: readonly Entry[]): Uint8Array[] {
  return entries.flatMap(({ json }, index) => (index === 0 ? [json] : [comma, json]));
}

function encodeEntries(entries: readonly Entry[]): Uint8Array[] {
  return entries.map((entry) => entry.encode());
}

/** JSON of an object without its braces. */
function jsonMembers(value: object): string {
  return printJson(value).slice(1, -1);
}

/** A schema without `enum`, also in what it contains. */
function withoutEnums(schema: OpenApiSchema): OpenApiSchema {
  const { enum: _, properties, items, additionalProperties, ...rest } = schema;
  const members = Object.entries((properties ?? {}) as Readonly<Record<string, OpenApiSchema>>);
  const ofMembers = (value: unknown) =>
    isJsonObject(value) ? withoutEnums(value as OpenApiSchema) : value;
  return {
    ...rest,
    ...(properties === undefined
      ? {}
      : {
          properties: Object.fromEntries(members.map(([key, each]) => [key, withoutEnums(each)])),
        }),
    ...(items === undefined ? {} : { items: ofMembers(items) }),
    ...(additionalProperties === undefined
      ? {}
      : { additionalProperties: ofMembers(additionalProperties) }),
  };
}

function definitionPrinter(
  fold: OpenApiFold,
  { shape, enums }: { readonly shape: Shape; readonly enums: boolean },
): Dialect["define"] {
  return (type, root) => {
    const name = openApiName(type.package, type.name);
    try {
      const { schema, refersTo } = fold(type, root);
      // Enums of custom resources are rules of their definitions.
      const isCustom = type.tag === "struct" && type.open !== undefined;
      const published = enums || isCustom ? schema : withoutEnums(schema);
      return { entry: new Entry(name, published, shape), refersTo };
    } catch (error) {
      return { entry: Entry.opaque(name, shape, error), refersTo: [] };
    }
  };
}

const securityV2 = {
  securityDefinitions: { BearerToken: bearerToken },
  security: [{ BearerToken: [] }],
};

/** Swagger 2.0. */
const swaggerOf = (enums: boolean): Dialect => ({
  version: "v2",
  path: (item) => new Entry(item.path, pathV2(item), pathsV2),
  define: memoizeDefinitions(
    definitionPrinter(openApiV2(openApiName), { shape: definitionsV2, enums }),
  ),
  json: ({ info, paths, schemas }) => [
    Buffer.from(`{${jsonMembers({ swagger: "2.0", info })},"paths":{`),
    ...joinMembers(paths),
    Buffer.from('},"definitions":{'),
    ...joinMembers(schemas),
    Buffer.from(`},${jsonMembers(securityV2)}}`),
  ],
  protobuf: ({ info, paths, schemas }) => [
    encodeMessage(documentV2, { swagger: "2.0", info }),
    ...lengthDelimited(8, encodeEntries(paths)),
    ...lengthDelimited(9, encodeEntries(schemas)),
    encodeMessage(documentV2, securityV2),
  ],
});

const securitySchemes = { BearerToken: bearerToken };

/** OpenAPI 3.0. */
const openApi3Of = (enums: boolean): Dialect => ({
  version: "v3",
  path: (item) => new Entry(item.path, pathV3(item), pathsV3),
  define: definitionPrinter(openApiV3(openApiName), { shape: schemasV3, enums }),
  json: ({ info, paths, schemas }) => [
    Buffer.from(`{${jsonMembers({ openapi: "3.0.0", info })},"paths":{`),
    ...joinMembers(paths),
    Buffer.from('},"components":{"schemas":{'),
    ...joinMembers(schemas),
    Buffer.from(`},${jsonMembers({ securitySchemes })}}}`),
  ],
  protobuf: ({ info, paths, schemas }) => {
    const security = encodeMessage(componentsV3, { securitySchemes });
    return [
      encodeMessage(documentV3, { openapi: "3.0.0", info }),
      ...lengthDelimited(4, encodeEntries(paths)),
      ...lengthDelimited(5, [...lengthDelimited(1, encodeEntries(schemas)), security]),
    ];
  },
});

const dialects = {
  v2: { enums: swaggerOf(true), plain: swaggerOf(false) },
  v3: { enums: openApi3Of(true), plain: openApi3Of(false) },
};

export function dialectOf(version: "v2" | "v3", { publishing }: Catalog): Dialect {
  return dialects[version][publishing.enums ? "enums" : "plain"];
}

/** Caches the last definition of each type while the type is referenced. */
function memoizeDefinitions(define: Dialect["define"]): Dialect["define"] {
  const cache = new WeakMap<OpenApiType, { readonly key: string; readonly value: DefinedEntry }>();
  return (type, root) => {
    const key = root === undefined ? "" : JSON.stringify([root.typeMeta, root.kinds]);
    const cached = cache.get(type);
    if (cached !== undefined && cached.key === key) return cached.value;
    const value = define(type, root);
    cache.set(type, { key, value });
    return value;
  };
}
