import { notAcceptableBecause, printYaml, type Resource } from "#meta";
import { partialObjectMetadata } from "#api";
import type { Item, ItemList } from "#registry";
import { toJsonValue, toProtobuf, wrapEnvelope } from "#schema";
import type { AnswerWriter } from "./answer.ts";
import {
  itemJson,
  itemMessage,
  type ListFacts,
  listFactsBytes,
  partialJson,
  partialTypeMeta,
  partialValue,
  type Pieces,
  servedObject,
} from "./encode.ts";
import { Indenter } from "./indent.ts";
import type { Negotiated, Transform } from "./negotiation.ts";
import { rowJson, tableHead, tableTail, type TableView } from "./table.ts";

/**
 * How a list is spelled: what stands before the items, each item, what stands between and after.
 */
interface ListShape {
  readonly head: (facts: ListFacts, empty: boolean) => string;
  readonly item: (item: Item) => Pieces;
  readonly separator: string;
  readonly tail: (facts: ListFacts, empty: boolean) => string;
}

export interface ListView extends Negotiated {
  readonly resource: Resource;
  readonly table: TableView | undefined;
  readonly metaGroup: string;
}

/**
 * Writes a list item after item: the next one is asked of the registry when the last one has left
 * or is gathered for leaving, so a list is never in memory as a whole. Protobuf announces its
 * length first; there the encoded items are gathered.
 * @throws StatusError 406 when one object was asked for.
 */
export async function writeList(
  writer: AnswerWriter,
  list: ItemList,
  view: ListView,
): Promise<void> {
  if (view.as?.kind === "PartialObjectMetadata") throw listRequested(view.resource);
  if (view.format === "protobuf") return writeProtobufList(writer, list, view);
  const shape = shapeOf(view);
  const indenter = view.pretty && view.format === "json" ? new Indenter() : undefined;
  const put = (piece: string | Uint8Array) =>
    writer.write(indenter === undefined ? piece : indenter.feed(textOf(piece)));
  let count = 0;
  for await (const item of list.items) {
    if (count === 0) await put(shape.head(factsOf(list), false));
    else if (shape.separator !== "") put(shape.separator);
    for (const piece of shape.item(item)) {
      const wait = put(piece);
      if (wait !== undefined) await wait;
    }
    count++;
  }
  if (count === 0) put(shape.head(factsOf(list), true));
  await put(shape.tail(factsOf(list), count === 0));
  await writer.end();
}

function factsOf(list: ItemList): ListFacts {
  const { revision, next } = list;
  return {
    resourceVersion: String(revision),
    ...(next === undefined ? {} : { continue: next.continueToken }),
    ...(next?.remaining === undefined ? {} : { remainingItemCount: next.remaining }),
  };
}

function shapeOf(view: ListView): ListShape {
  if (view.format === "yaml") return yamlShape(view);
  if (view.table !== undefined) return jsonTable(view.resource, view.table);
  if (view.as === undefined) return jsonList(view.resource);
  return jsonPartialList(view.as, view.metaGroup);
}

function jsonList({ kind, groupVersion }: Resource): ListShape {
  return {
    head: (facts) =>
      `{"kind":"${kind.listKind}","apiVersion":"${groupVersion}",` +
      `"metadata":${JSON.stringify(facts)},"items":[`,
    item: (item) => itemJson(item, true),
    separator: ",",
    tail: () => "]}\n",
  };
}

function jsonPartialList(as: Transform, metaGroup: string): ListShape {
  const typeMeta = partialTypeMeta(as, metaGroup);
  return {
    head: (facts, empty) =>
      `{"kind":"${as.kind}","apiVersion":"${typeMeta.apiVersion}",` +
      `"metadata":${JSON.stringify(facts)},"items":${empty ? "null" : "["}`,
    item: (item) => [partialJson(servedObject(item).metadata, typeMeta)],
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

/** YAML sorts its keys, so what comes after the items is known only to the tail. */
function yamlShape(view: ListView): ListShape {
  const { resource, table } = view;
  if (table !== undefined) {
    return {
      head: (facts, empty) => {
        const head = tableHead(resource, table, { metadata: facts, columns: true });
        const whole = `${head}${tableTail}`;
        const { rows: _rows, ...rest } = JSON.parse(whole) as { rows: unknown };
        return printYaml(rest) + (empty ? "rows: []\n" : "rows:\n");
      },
      item: (item) => [printYaml([JSON.parse(rowJson(item, table))])],
      separator: "",
      tail: () => "",
    };
  }
  const partial = view.as === undefined ? undefined : partialTypeMeta(view.as, view.metaGroup);
  const kind = view.as?.kind ?? resource.kind.listKind;
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
          ? toJsonValue(resource.struct, object)
          : partialValue(object.metadata, partial);
      return [printYaml([value])];
    },
    separator: "",
    tail: (metadata) => printYaml({ kind, metadata }),
  };
}

const LIST_METADATA_TAG = 0x0a;
const LIST_ITEM_TAG = 0x12;

async function writeProtobufList(
  writer: AnswerWriter,
  list: ItemList,
  view: ListView,
): Promise<void> {
  const parts: Uint8Array[] = [];
  for await (const item of list.items) {
    const message =
      view.as === undefined
        ? itemMessage(item)
        : toProtobuf(partialObjectMetadata, { metadata: servedObject(item).metadata });
    parts.push(lengthPrefix(LIST_ITEM_TAG, message.byteLength), message);
  }
  const metadata = listFactsBytes(factsOf(list));
  const raw = Buffer.concat([
    lengthPrefix(LIST_METADATA_TAG, metadata.byteLength),
    metadata,
    ...parts,
  ]);
  const { resource, as, metaGroup } = view;
  const typeMeta =
    as === undefined
      ? { kind: resource.kind.listKind, apiVersion: resource.groupVersion }
      : { kind: as.kind, apiVersion: `${metaGroup}/${as.version}` };
  await writer.write(wrapEnvelope(typeMeta, raw));
  await writer.end();
}

/** Tag and length of a Protobuf field that holds bytes. */
export function lengthPrefix(tag: number, length: number): Uint8Array {
  const bytes = [tag];
  let rest = length;
  while (rest >= 0x80) {
    bytes.push((rest & 0x7f) | 0x80);
    rest = Math.floor(rest / 0x80);
  }
  bytes.push(rest);
  return Uint8Array.from(bytes);
}

function textOf(piece: string | Uint8Array): string {
  return typeof piece === "string" ? piece : Buffer.from(piece).toString("utf8");
}

/** The name that Kubernetes' server gives an internal type in messages: `core.ConfigMap`. */
function internalName(resource: Resource, kind: string): string {
  return `*${resource.hub.group === "" ? "core" : resource.hub.group.split(".")[0]}.${kind}`;
}

function listRequested(resource: Resource): Error {
  const name = internalName(resource, resource.kind.listKind);
  return notAcceptableBecause(
    `you requested PartialObjectMetadata, but the requested object is a list (${name})`,
  );
}

export function noListRequested(resource: Resource): Error {
  const name = internalName(resource, resource.kind.kind);
  return notAcceptableBecause(
    `you requested PartialObjectMetadataList, but the requested object is not a list (${name})`,
  );
}
