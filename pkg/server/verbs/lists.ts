import { yieldEvery, printJson } from "#base";
import { notAcceptableBecause, plainFailure, printYaml, type Resource } from "#meta";
import { partialObjectMetadata } from "#api";
import type { Item, ItemList } from "#registry";
import {
  delimitedSize,
  envelopeAround,
  toJsonValue,
  toProtobuf,
  WireWriter,
  writeDelimited,
  parseExactJson,
} from "#schema";
import type { ResponseWriter } from "../response/response-writer.ts";
import {
  itemJson,
  itemMessage,
  itemMessageBytes,
  listItemsField,
  itemOverheadBytes,
  writeMember,
  type ListFacts,
  listFactsBytes,
  partialJson,
  partialTypeMeta,
  partialValue,
  type Pieces,
  metadataAlone,
  servedObject,
  typeMetaOf,
} from "../response/encode.ts";
import { Indenter } from "../response/indent.ts";
import type { Negotiated, Transform } from "../response/negotiation.ts";
import {
  cachedMessagesBytes,
  joinedMembers,
  joinedMessages,
  type EncodingCaches,
} from "./list-chunk-cache.ts";
import { rowJson, tableHead, tableTail, type TableView } from "../response/table.ts";

/**
 * The encoding of a list: head, items with a separator, and tail.
 */
interface ListShape {
  readonly head: (facts: ListFacts, empty: boolean) => string;
  readonly item: (item: Item) => Pieces;
  readonly separator: string;
  readonly tail: (facts: ListFacts, empty: boolean) => string;
}

export interface ListView extends Negotiated, EncodingCaches {
  readonly resource: Resource;
  readonly table: TableView | undefined;
}

/**
 * Writes a list chunk by chunk: the next chunk is read when the last one is written to the response, so
 * the list is never in memory as a whole.
 * @throws StatusError 406 if the client accepts only PartialObjectMetadata, not its list.
 */
export async function writeList(
  writer: ResponseWriter,
  list: ItemList,
  view: ListView,
): Promise<void> {
  if (view.as?.kind === "PartialObjectMetadata") throw listRequested(view.resource);
  if (view.format === "protobuf") return writeProtobufList(writer, list, view);
  const plain = view.format === "json" && !view.pretty && view.as === undefined;
  if (plain) return writePlainList(writer, list, view);
  const shape = shapeOf(view);
  const indenter = view.pretty && view.format === "json" ? new Indenter() : undefined;
  const put = (piece: string | Uint8Array) =>
    writer.write(indenter === undefined ? piece : indenter.feed(textOf(piece)));
  const turn = turnOf(writer);
  let count = 0;
  for await (const items of orderedChunks(list, view)) {
    for (const item of items) {
      const wait = turn();
      if (wait !== undefined) await wait;
      const before = count === 0 ? shape.head(factsOf(list), false) : shape.separator;
      const room = before === "" ? undefined : put(before);
      if (room !== undefined) await room;
      for (const piece of shape.item(item)) {
        const wait = put(piece);
        if (wait !== undefined) await wait;
      }
      count++;
    }
  }
  if (count === 0) await put(shape.head(factsOf(list), true));
  await put(shape.tail(factsOf(list), count === 0));
  await writer.end();
}

/** The items in the order of their rows, for which they are collected. */
async function* orderedChunks(list: ItemList, { table, resource }: ListView) {
  const { rowOrder } = resource.kind;
  if (table === undefined || rowOrder === undefined) return yield* list.chunks;
  const items: Item[] = [];
  for await (const item of list.items) items.push(item);
  yield items.sort((left, right) => rowOrder(left.object, right.object));
}

const openList = 0x5b;

/** Compact JSON: the stored bytes of the items are copied into the response. */
async function writePlainList(
  writer: ResponseWriter,
  list: ItemList,
  view: ListView,
): Promise<void> {
  const shape = jsonList(view.resource);
  const turn = turnOf(writer);
  let first = true;
  for await (const items of list.chunks) {
    await turn();
    const joined = joinedMembers(items, view);
    if (joined !== undefined) {
      if (first) await writer.write(shape.head(factsOf(list), false));
      const wait = writer.write(first ? joined.subarray(1) : joined);
      if (wait !== undefined) await wait;
      first = false;
      continue;
    }
    for (const item of items) {
      // The head ends with the bracket that takes the place of the first member's comma.
      if (first) await writer.write(shape.head(factsOf(list), false).slice(0, -1));
      const wait = writer.reserve(item.bytes.byteLength + itemOverheadBytes);
      const start = writer.at;
      const behind = writeMember(item, writer.room, start);
      if (behind > 0) {
        if (first) writer.room[start] = openList;
        writer.at = behind;
      } else {
        await writer.write(first ? "[" : ",");
        for (const piece of itemJson(item, true)) await writer.write(piece);
      }
      if (wait !== undefined) await wait;
      first = false;
    }
  }
  if (first) await writer.write(shape.head(factsOf(list), true));
  await writer.write(shape.tail(factsOf(list), first));
  await writer.end();
}

function factsOf(list: ItemList): ListFacts {
  const { revision, next } = list;
  return {
    ...(revision > 0 ? { resourceVersion: String(revision) } : {}),
    ...(next === undefined ? {} : { continue: next.continueToken }),
    ...(next?.remaining === undefined ? {} : { remainingItemCount: next.remaining }),
  };
}

function shapeOf(view: ListView): ListShape {
  if (view.format === "yaml") return yamlShape(view);
  if (view.table !== undefined) return jsonTable(view.resource, view.table);
  if (view.as === undefined) return jsonList(view.resource);
  return jsonPartialList(view.as);
}

function jsonList(resource: Resource): ListShape {
  const { kind, groupVersion } = resource;
  return {
    head: (facts) =>
      `{"kind":"${kind.listKind}","apiVersion":"${groupVersion}",` +
      `"metadata":${printJson(shownFacts(resource, facts))},"items":[`,
    item: (item) => itemJson(item, true),
    separator: ",",
    tail: () => "]}\n",
  };
}

/** Lists of custom resources are unstructured in Go, whose encoding always has `continue`. */
function shownFacts({ kind }: Resource, facts: ListFacts): ListFacts {
  return kind.custom === undefined ? facts : { continue: "", ...facts };
}

function jsonPartialList(as: Transform): ListShape {
  const typeMeta = partialTypeMeta(as);
  return {
    head: (facts, empty) =>
      `{"kind":"${as.kind}","apiVersion":"${typeMeta.apiVersion}",` +
      `"metadata":${printJson(facts)},"items":${empty ? "null" : "["}`,
    item: (item) => [partialJson(metadataAlone(item), typeMeta)],
    separator: ",",
    tail: (_facts, empty) => (empty ? "}\n" : "]}\n"),
  };
}

function jsonTable(resource: Resource, view: TableView): ListShape {
  return {
    head: (facts) => tableHead(resource, view, { metadata: facts, columns: true }),
    item: (item) => [rowJson(item, view)],
    separator: ",",
    tail: () => `${tableTail}\n`,
  };
}

/** YAML has sorted keys: `apiVersion` and `items` are in the head, `kind` and `metadata` in the tail. */
function yamlShape(view: ListView): ListShape {
  const { resource, table } = view;
  if (table !== undefined) {
    return {
      head: (facts, empty) => {
        const head = tableHead(resource, table, { metadata: facts, columns: true });
        const whole = `${head}${tableTail}`;
        const { rows: _rows, ...rest } = parseExactJson(whole) as { rows: unknown };
        return printYaml(rest) + (empty ? "rows: []\n" : "rows:\n");
      },
      item: (item) => [printYaml([parseExactJson(rowJson(item, table))])],
      separator: "",
      tail: () => "",
    };
  }
  const partial = view.as === undefined ? undefined : partialTypeMeta(view.as);
  const kind = view.as?.kind ?? resource.kind.listKind;
  const memberTypeMeta = resource.kind.custom === undefined ? undefined : typeMetaOf(resource);
  return {
    head: (_facts, empty) => {
      const none = partial === undefined ? "[]" : "null";
      const head = printYaml({ apiVersion: partial?.apiVersion ?? resource.groupVersion });
      return `${head}items:${empty ? ` ${none}` : ""}\n`;
    },
    item: (item) => {
      const object = servedObject(item);
      const value =
        partial === undefined
          ? toJsonValue(resource.struct, object, memberTypeMeta)
          : partialValue(metadataAlone(item), partial);
      return [printYaml([value])];
    },
    separator: "",
    tail: (facts) => {
      return printYaml({
        kind,
        metadata: partial === undefined ? shownFacts(resource, facts) : facts,
      });
    },
  };
}

const listMetadataField = 1;

/**
 * A Protobuf list starts with its length, so all items are encoded before the first is sent, unless their
 * lengths are known. Items that exceed the cache of encoded messages are encoded a second time.
 */
async function writeProtobufList(
  writer: ResponseWriter,
  list: ItemList,
  view: ListView,
): Promise<void> {
  const isWhole = view.as === undefined;
  const partialOf = (item: Item): Uint8Array =>
    toProtobuf(partialObjectMetadata, { metadata: metadataAlone(item) });
  const messageOf = isWhole ? (item: Item) => itemMessage(item, view.messages) : partialOf;
  const lengthOf = (item: Item): number =>
    isWhole ? itemMessageBytes(item, view.messages) : partialOf(item).byteLength;
  const turn = turnOf(writer);
  const chunks: (readonly Item[])[] = [];
  let size = 0;
  for await (const items of list.chunks) {
    chunks.push(items);
    const cachedBytes = isWhole ? cachedMessagesBytes(items) : undefined;
    size += cachedBytes ?? 0;
    for (const item of cachedBytes === undefined ? items : []) {
      size += delimitedSize(lengthOf(item));
      const wait = turn();
      if (wait !== undefined) await wait;
    }
  }
  const facts = listFactsBytes(factsOf(list));
  const metadata = new WireWriter().bytes(listMetadataField, facts).finish();
  size += metadata.byteLength;
  const { resource, as } = view;
  const typeMeta =
    as === undefined
      ? { kind: resource.kind.listKind, apiVersion: resource.groupVersion }
      : { kind: as.kind, apiVersion: `${as.group}/${as.version}` };
  const { head, tail } = envelopeAround(typeMeta, size);
  await writer.write(head);
  await writer.write(metadata);
  for (const items of chunks) {
    await turn();
    const joined = isWhole ? joinedMessages(items, view) : undefined;
    if (joined !== undefined) await writer.write(joined);
    for (const item of joined === undefined ? items : []) {
      const message = messageOf(item);
      const wait = writer.reserve(delimitedSize(message.byteLength));
      writer.at = writeDelimited(writer.room, writer.at, listItemsField, message);
      if (wait !== undefined) await wait;
      const next = turn();
      if (next !== undefined) await next;
    }
  }
  await writer.write(tail);
  await writer.end();
}

/** Yields between items, which may be large; throws ClientGone if the client has disconnected. */
function turnOf(writer: ResponseWriter): () => Promise<void> | undefined {
  const turn = yieldEvery();
  return () => {
    writer.checkOpen();
    return turn();
  };
}

function textOf(piece: string | Uint8Array): string {
  return typeof piece === "string" ? piece : Buffer.from(piece).toString("utf8");
}

/** The Go name of an internal type in error messages: `*core.ConfigMap`. */
function internalName(resource: Resource, kind: string): string {
  return `*${resource.hub.group === "" ? "core" : resource.hub.group.split(".")[0]}.${kind}`;
}

function listRequested(resource: Resource): Error {
  const name = internalName(resource, resource.kind.listKind);
  return notAcceptableBecause(
    `you requested PartialObjectMetadata, but the requested object is a list (${name})`,
  );
}

/** kube-apiserver has an error of its own, 500, for unstructured objects. */
export function noListRequested(resource: Resource): Error {
  if (resource.kind.custom !== undefined) return plainFailure("content is not a list");
  const name = internalName(resource, resource.kind.kind);
  return notAcceptableBecause(
    `you requested PartialObjectMetadataList, but the requested object is not a list (${name})`,
  );
}
