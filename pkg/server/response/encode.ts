import {
  type Awaitable,
  type CacheBudget,
  type Evictable,
  inTurns,
  memoize,
  ownBytes,
  type Slices,
  toBuffer,
} from "#base";
import {
  escapeHtml,
  listMeta,
  objectMeta,
  printYaml,
  printYamlInSlices,
  type Resource,
  type Status,
} from "#meta";
import { partialObjectMetadata, status as statusStruct } from "#api";
import type { Item } from "#registry";
import {
  fromJson,
  toJson,
  toJsonInSlices,
  toJsonValue,
  toJsonValueInSlices,
  toProtobuf,
  type StructType,
  type TypeMeta,
  wrapEnvelope,
} from "#schema";
import type { Format, Negotiated, Transform } from "./negotiation.ts";

/** The consecutive pieces of one encoded value. */
export type Pieces = readonly (string | Uint8Array)[];

const metadataStart = Buffer.from('"metadata":{');
const openBrace = 0x7b;
const closeBrace = 0x7d;

/** The object in the served version; shared, read-only. */
export function servedObject(item: Item): any {
  const { convert } = item.resource.served;
  return convert === "hub" ? item.object : convert.down(item.object);
}

/** The metadata of PartialObjectMetadata, without the annotation that represents a field. */
export function metadataAlone(item: Item): any {
  const { metadata } = servedObject(item);
  const { fieldAnnotation: hidden } = item.resource.kind.rules;
  if (hidden === undefined || metadata.annotations === undefined) return metadata;
  const { [hidden]: _field, ...annotations } = metadata.annotations;
  return { ...metadata, annotations };
}

export function typeMetaOf(resource: Resource): TypeMeta {
  return { kind: resource.kind.kind, apiVersion: resource.groupVersion };
}

/**
 * JSON of an item: splices the resourceVersion into the stored bytes if these are JSON in the served
 * version with kind, apiVersion and metadata first, as Keelson and kube-apiserver store it; encodes the
 * object otherwise. Members of a list have no kind and apiVersion, except custom resources.
 */
export function itemJson(item: Item, inList: boolean): Pieces {
  const bare = inList && item.resource.kind.custom === undefined;
  const spliced = spliceJson(item, bare);
  if (spliced !== undefined) return spliced;
  const typeMeta = bare ? undefined : typeMetaOf(item.resource);
  return [toJson(item.resource.struct, servedObject(item), typeMeta)];
}

function spliceJson(item: Item, inList: boolean): Pieces | undefined {
  const encoding = encodingOf(item);
  if (encoding.from === 0) return undefined;
  const { bytes, revision, resource } = item;
  // A dry-run create returns the resourceVersion of the client, which the bytes lack.
  if (revision === 0 && item.object.metadata.resourceVersion !== undefined) return undefined;
  const rest = bytes.subarray(encoding.from, encoding.end);
  const opening = `${inList ? "{" : headOf(resource)}"metadata":{`;
  if (revision === 0) return [opening, rest];
  const comma = bytes[encoding.from] === closeBrace ? "" : ",";
  return [`${opening}"resourceVersion":"${revision}"${comma}`, rest];
}

/** Limit in bytes of a member of a JSON list beyond its stored bytes. */
export const itemOverheadBytes = 64;
const itemStart = Buffer.from(',{"metadata":{"resourceVersion":"');
const commaByte = 0x2c;
const quoteByte = 0x22;

/**
 * Writes a comma and a member of a JSON list at `start`; `into` must have room for the stored bytes and
 * `itemOverheadBytes` more. Returns the offset after it; 0 for an item that cannot be spliced.
 */
export function writeMember(item: Item, into: Buffer, start: number): number {
  const encoding = encodingOf(item);
  if (encoding.from === 0 || item.revision === 0 || item.resource.kind.custom) return 0;
  encoding.rest ??= item.bytes.subarray(encoding.from, encoding.end);
  const { rest } = encoding;
  into.set(itemStart, start);
  let at = writeDigits(into, start + itemStart.length, item.revision);
  into[at++] = quoteByte;
  if (rest[0] !== closeBrace) into[at++] = commaByte;
  into.set(rest, at);
  return at + rest.byteLength;
}

/** Writes a positive integer in decimal; returns the offset after it. */
function writeDigits(into: Buffer, start: number, value: number): number {
  let end = start;
  for (let rest = value; rest >= 1; rest = Math.floor(rest / 10)) end++;
  let rest = value;
  for (let at = end - 1; at >= start; at--) {
    const next = Math.floor(rest / 10);
    into[at] = 0x30 + (rest - next * 10);
    rest = next;
  }
  return end;
}

/** Cached encodings of an item, held by the item. */
class Encoding implements Evictable {
  /** The Protobuf message, without envelope. */
  message: Uint8Array | undefined = undefined;
  /** Its length, which is not evicted. */
  messageBytes: number | undefined = undefined;
  /** The stored bytes from `from` to `end`. */
  rest: Uint8Array | undefined = undefined;

  /** `from`: offset after `"metadata":{`, where the resourceVersion is inserted; 0 = not spliced. */
  constructor(
    readonly from: number,
    readonly end: number,
  ) {}

  evict(): void {
    this.message = undefined;
  }
}

function encodingOf(item: Item): Encoding {
  item.encoded ??= encodingFor(item, item.resource.kind.custom === undefined || isAsStored(item));
  return item.encoded as Encoding;
}

/** @param isAsStored whether the stored bytes are what the object is encoded to */
function encodingFor({ resource, bytes }: Item, isAsStored: boolean): Encoding {
  const unspliced = new Encoding(0, 0);
  if (!isAsStored) return unspliced;
  if (resource.served.convert !== "hub" || bytes[0] !== openBrace) return unspliced;
  const view = toBuffer(bytes);
  const head = headOf(resource);
  const at = Buffer.byteLength(head);
  if (view.compare(metadataStart, 0, metadataStart.length, at, at + metadataStart.length) !== 0)
    return unspliced;
  if (view.toString("latin1", 0, at) !== head) return unspliced;
  let end = bytes.byteLength;
  while (bytes[end - 1] === 0x0a) end--;
  return new Encoding(at + metadataStart.length, end);
}

/** Whether decoding and encoding yields the stored bytes; a changed schema may add defaults or prune. */
function isAsStored(item: Item): boolean {
  if (item.isEncoded === true) return true;
  const { resource, bytes } = item;
  const text = toJson(resource.struct, storedObject(item), typeMetaOf(resource));
  return toBuffer(bytes).equals(Buffer.from(text));
}

/** As `isAsStored`, in slices. */
function* isAsStoredInSlices(item: Item): Slices<boolean> {
  const { resource, bytes } = item;
  const object = storedObject(item);
  for (const { fieldsV1 } of object.metadata.managedFields ?? []) yield* fieldsV1?.print() ?? [];
  const text = yield* toJsonInSlices(resource.struct, object, typeMetaOf(resource));
  yield;
  return toBuffer(bytes).equals(Buffer.from(text));
}

/** The object without its resourceVersion, which is not stored. */
function storedObject({ object }: Item): any {
  const { resourceVersion: _version, ...metadata } = object.metadata;
  return { ...object, metadata };
}

const headOf = memoize((resource: Resource): string => {
  const { kind, apiVersion } = typeMetaOf(resource);
  return `{"kind":"${kind}","apiVersion":"${apiVersion}",`;
});

/** One complete object in the format. */
export function itemPieces(item: Item, format: Format): Awaitable<Pieces> {
  const { struct } = item.resource;
  const typeMeta = typeMetaOf(item.resource);
  switch (format) {
    case "json":
      return isLargeUnencoded(item) ? inTurns(itemJsonInSlices(item)) : itemJson(item, false);
    case "yaml":
      // Yields, as sorting the keys of a large object takes long.
      return inTurns(itemYaml(item)).then((text) => [text]);
    case "protobuf":
      return [structEnvelope(struct, servedObject(item), typeMeta)];
  }
}

/** Bytes of a custom resource that takes longer than some milliseconds to encode. */
const largeBytes = 64 * 1024;

/** Whether the item is a large custom resource whose stored bytes are not known to be its JSON. */
function isLargeUnencoded({ resource, bytes, encoded, isEncoded }: Item): boolean {
  if (resource.kind.custom === undefined || bytes.byteLength <= largeBytes) return false;
  return encoded === undefined ? isEncoded !== true : (encoded as Encoding).from === 0;
}

/** As `itemJson` of one object, in slices. */
function* itemJsonInSlices(item: Item): Slices<Pieces> {
  if (item.encoded === undefined) {
    const encoding = encodingFor(item, yield* isAsStoredInSlices(item));
    item.encoded ??= encoding;
  }
  const spliced = spliceJson(item, false);
  if (spliced !== undefined) return spliced;
  const { resource } = item;
  return [yield* toJsonInSlices(resource.struct, servedObject(item), typeMetaOf(resource))];
}

function* itemYaml(item: Item): Slices<string> {
  const object = servedObject(item);
  yield;
  const { struct } = item.resource;
  const value = yield* toJsonValueInSlices(struct, object, typeMetaOf(item.resource));
  yield;
  return yield* printYamlInSlices(value);
}

export function structEnvelope(
  struct: StructType<any>,
  object: any,
  typeMeta: TypeMeta,
): Uint8Array {
  return wrapEnvelope(typeMeta, toProtobuf(struct, object));
}

/** One object in its Protobuf envelope. */
export function itemEnvelope(item: Item, messages: CacheBudget): Uint8Array {
  return wrapEnvelope(typeMetaOf(item.resource), itemMessage(item, messages));
}

/** The Protobuf message of an item without envelope, cached with the item within the budget. */
export function itemMessage(item: Item, messages: CacheBudget): Uint8Array {
  const encoding = encodingOf(item);
  if (encoding.message !== undefined) return encoding.message;
  const message = ownBytes(toProtobuf(item.resource.struct, servedObject(item)));
  encoding.message = message;
  encoding.messageBytes = message.byteLength;
  messages.add(encoding, message.byteLength + 100);
  return message;
}

/** Length of `itemMessage`, which is encoded only to learn its length for the first time. */
export function itemMessageBytes(item: Item, messages: CacheBudget): number {
  return encodingOf(item).messageBytes ?? itemMessage(item, messages).byteLength;
}

/** Field number of `items` in every list message. */
export const listItemsField = 2;

export function partialTypeMeta({ group, version }: Transform): TypeMeta {
  return { kind: "PartialObjectMetadata", apiVersion: `${group}/${version}` };
}

/** PartialObjectMetadata of an object. */
export function partialPieces(metadata: unknown, typeMeta: TypeMeta, format: Format): Pieces {
  switch (format) {
    case "json":
      return [partialJson(metadata, typeMeta)];
    case "yaml":
      return [printYaml(partialValue(metadata, typeMeta))];
    case "protobuf":
      return [structEnvelope(partialObjectMetadata, { metadata }, typeMeta)];
  }
}

export function partialJson(metadata: any, { kind, apiVersion }: TypeMeta): string {
  const text = toJson(objectMeta, metadata);
  return `{"kind":"${kind}","apiVersion":"${apiVersion}","metadata":${text}}`;
}

export function partialValue(metadata: any, { kind, apiVersion }: TypeMeta): unknown {
  return { kind, apiVersion, metadata: toJsonValue(objectMeta, metadata) };
}

/** The ListMeta of a response. */
export interface ListFacts {
  /** Absent for lists that are not stored. */
  readonly resourceVersion?: string;
  readonly continue?: string;
  readonly remainingItemCount?: number;
}

export function listFactsBytes(facts: ListFacts): Uint8Array {
  return toProtobuf(listMeta, fromJson(listMeta, facts));
}

/** A Status in the negotiated format; `pretty` applies only to JSON. */
export function statusBody(status: Status, { format, pretty }: Negotiated): string | Uint8Array {
  switch (format) {
    case "json":
      return `${escapeHtml(JSON.stringify(status, undefined, pretty ? 2 : undefined))}\n`;
    case "yaml":
      return printYaml(status);
    case "protobuf":
      return structEnvelope(statusStruct, fromJson(statusStruct, status, { root: true }), {
        kind: status.kind,
        apiVersion: status.apiVersion,
      });
  }
}
