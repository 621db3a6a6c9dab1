import { builtinKinds } from "#api";
import { Catalog, type Domain, parseYaml, printYaml, type Resource } from "#meta";
import {
  fromJson,
  fromProtobuf,
  parseJson,
  toJson,
  toJsonValue,
  toProtobuf,
  unwrapEnvelope,
  wrapEnvelope,
} from "#schema";

export const formats = ["json", "yaml", "protobuf", "stored"] as const;

export type Format = (typeof formats)[number];

export interface Conversion {
  /** Absent = detected; `stored` is JSON or Protobuf. */
  readonly from?: Format;
  readonly to: Format;
  /** Media type that `--to=stored` writes. */
  readonly storageMediaType: "json" | "protobuf";
  readonly domain: Domain;
}

/** Input that cannot be converted; the message is shown to the user unchanged. */
export class CodecError extends Error {
  override readonly name = "CodecError";
}

interface Decoded {
  readonly resource: Resource;
  readonly object: any;
}

/**
 * Converts one object to another format. Unknown fields are dropped, as by an API server; nothing
 * is defaulted or validated.
 * @throws CodecError
 */
export function convert(input: Uint8Array, conversion: Conversion): Uint8Array {
  const catalog = new Catalog(builtinKinds, conversion.domain, () => true);
  const decoded = decode(input, conversion.from, catalog);
  return encode(decoded, conversion);
}

function decode(input: Uint8Array, from: Format | undefined, catalog: Catalog): Decoded {
  const envelope = readable(() => unwrapEnvelope(input));
  if (from === "protobuf" && envelope === undefined) {
    throw new CodecError("the input does not begin with the Protobuf prefix `k8s\\0`");
  }
  if (envelope !== undefined && (from === undefined || from === "protobuf" || from === "stored")) {
    const resource = find(catalog, envelope.apiVersion, envelope.kind);
    const object = readable(() => fromProtobuf(resource.struct, envelope.raw));
    return { resource, object };
  }
  const text = Buffer.from(input).toString("utf8");
  if (text.trim() === "") throw new CodecError("the input is empty");
  const isYaml = from === "yaml" || (from === undefined && !text.trimStart().startsWith("{"));
  const { value } = readable(() => (isYaml ? parseYaml(text) : parseJson(text)));
  const { apiVersion, kind } = (value ?? {}) as Record<string, unknown>;
  if (typeof apiVersion !== "string" || typeof kind !== "string") {
    throw new CodecError("the input has no apiVersion and kind");
  }
  const resource = find(catalog, apiVersion, kind);
  return { resource, object: readable(() => fromJson(resource.struct, value, { root: true })) };
}

function find(catalog: Catalog, apiVersion: string, kind: string): Resource {
  const resource = catalog.findKind(apiVersion, kind);
  if (resource !== undefined) return resource;
  throw new CodecError(`no kind ${JSON.stringify(kind)} is known in version "${apiVersion}"`);
}

function readable<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new CodecError(`the input cannot be read: ${(error as Error).message}`);
  }
}

function encode({ resource, object }: Decoded, conversion: Conversion): Uint8Array {
  const { to, storageMediaType } = conversion;
  const typeMeta = { kind: resource.kind.kind, apiVersion: resource.groupVersion };
  switch (to) {
    case "json":
      return Buffer.from(`${toJson(resource.struct, object, typeMeta)}\n`);
    case "yaml":
      return Buffer.from(printYaml(toJsonValue(resource.struct, object, typeMeta)));
    case "protobuf":
      return wrapEnvelope(typeMeta, toProtobuf(resource.struct, object));
    case "stored":
      return encodeStored({ resource, object }, storageMediaType);
  }
}

/**
 * Encodes in the hub version and without resourceVersion, which the store derives from the
 * revision.
 */
function encodeStored({ resource, object }: Decoded, mediaType: "json" | "protobuf"): Uint8Array {
  const { convert: conversion } = resource.served;
  const hub = conversion === "hub" ? object : conversion.up(object);
  const kept = { ...hub, metadata: { ...hub.metadata, resourceVersion: undefined } };
  const typeMeta = { kind: resource.kind.kind, apiVersion: resource.hub.groupVersion };
  return mediaType === "json"
    ? Buffer.from(toJson(resource.hub.struct, kept, typeMeta))
    : wrapEnvelope(typeMeta, toProtobuf(resource.hub.struct, kept));
}
