/**
 * Assembles documents of both OpenAPI versions from entries, the members of `paths` and of the
 * schemas. Entries are cached as text, so that a change of one kind only prints that kind.
 */
import { parseJsonText } from "#base";
import { openApiName } from "#meta";
import {
  type OpenApiFold,
  type OpenApiRoot,
  type OpenApiType,
  openApiV2,
  openApiV3,
} from "#schema";
import type { PathItem } from "./operation.ts";
import { pathV2, pathV3 } from "./printing.ts";
import { encodeAlong, framed, type Shape } from "./protobuf.ts";
import {
  componentsV3,
  definitionsV2,
  documentV2,
  documentV3,
  pathsV2,
  pathsV3,
  schemasV3,
} from "./shapes.ts";

/** One member of an object of a document. */
export class Entry {
  /** `"name":{…}` */
  readonly json: Uint8Array;
  private encoded: Uint8Array | undefined;

  /** `value` is an object, or the compact JSON of one. */
  constructor(
    readonly name: string,
    value: object | string,
    private readonly shape: Shape,
  ) {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    this.json = Buffer.from(`${JSON.stringify(name)}:${text}`);
  }

  /** Compact JSON of the value. */
  get valueText(): string {
    const keyBytes = Buffer.byteLength(JSON.stringify(this.name)) + 1;
    return Buffer.from(this.json.subarray(keyBytes)).toString();
  }

  /** The Protobuf field with the member. Cached after the first call. */
  encode(): Uint8Array {
    return (this.encoded ??= encodeAlong(this.shape, parseJsonText(`{${this.json}}`)));
  }
}

/** An entry from another server: where it has a value of an unexpected type, Protobuf leaves it out. */
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

/** Content of a document; entries are sorted by name. */
export interface DocumentEntries {
  readonly info: { readonly title: string; readonly version: string };
  readonly paths: readonly Entry[];
  readonly schemas: readonly Entry[];
}

export interface Dialect {
  readonly path: (item: PathItem) => Entry;
  readonly define: (type: OpenApiType, root: OpenApiRoot | undefined) => DefinedEntry;
  /** The document in chunks. */
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

function members(entries: readonly Entry[]): Uint8Array[] {
  return entries.flatMap(({ json }, index) => (index === 0 ? [json] : [comma, json]));
}

function encoded(entries: readonly Entry[]): Uint8Array[] {
  return entries.map((entry) => entry.encode());
}

/** The JSON of an object without its braces. */
function inner(value: object): string {
  return JSON.stringify(value).slice(1, -1);
}

function definer(fold: OpenApiFold, shape: Shape): Dialect["define"] {
  return (type, root) => {
    const { schema, refersTo } = fold(type, root);
    const entry = new Entry(openApiName(type.package, type.name), schema, shape);
    return { entry, refersTo };
  };
}

const endOfV2 = {
  securityDefinitions: { BearerToken: bearerToken },
  security: [{ BearerToken: [] }],
};

/** Swagger 2.0. */
export const swagger: Dialect = {
  path: (item) => new Entry(item.path, pathV2(item), pathsV2),
  define: keptDefinitions(definer(openApiV2(openApiName), definitionsV2)),
  json: ({ info, paths, schemas }) => [
    Buffer.from(`{${inner({ swagger: "2.0", info })},"paths":{`),
    ...members(paths),
    Buffer.from('},"definitions":{'),
    ...members(schemas),
    Buffer.from(`},${inner(endOfV2)}}`),
  ],
  protobuf: ({ info, paths, schemas }) => [
    encodeAlong(documentV2, { swagger: "2.0", info }),
    ...framed(8, encoded(paths)),
    ...framed(9, encoded(schemas)),
    encodeAlong(documentV2, endOfV2),
  ],
};

const securitySchemes = { BearerToken: bearerToken };

/** OpenAPI 3.0. */
export const openApi3: Dialect = {
  path: (item) => new Entry(item.path, pathV3(item), pathsV3),
  define: definer(openApiV3(openApiName), schemasV3),
  json: ({ info, paths, schemas }) => [
    Buffer.from(`{${inner({ openapi: "3.0.0", info })},"paths":{`),
    ...members(paths),
    Buffer.from('},"components":{"schemas":{'),
    ...members(schemas),
    Buffer.from(`},${inner({ securitySchemes })}}}`),
  ],
  protobuf: ({ info, paths, schemas }) => {
    const security = encodeAlong(componentsV3, { securitySchemes });
    return [
      encodeAlong(documentV3, { openapi: "3.0.0", info }),
      ...framed(4, encoded(paths)),
      ...framed(5, [...framed(1, encoded(schemas)), security]),
    ];
  },
};

/** Caches the last definition of each type while the type is referenced. */
function keptDefinitions(define: Dialect["define"]): Dialect["define"] {
  const kept = new WeakMap<OpenApiType, { readonly root: string; readonly made: DefinedEntry }>();
  return (type, root) => {
    const text = root === undefined ? "" : JSON.stringify([root.typeMeta, root.kinds]);
    const known = kept.get(type);
    if (known !== undefined && known.root === text) return known.made;
    const made = define(type, root);
    kept.set(type, { root: text, made });
    return made;
  };
}
