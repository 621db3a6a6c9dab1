/** Protobuf messages of etcd, with the field numbers of rpc.proto and kv.proto. */
import { ownBytes } from "#base";
import { WireReader, WireWriter } from "#schema";
import type {
  Compare,
  Entry,
  RangeOptions,
  RangeResult,
  StoreEvent,
  Transaction,
  TransactionResult,
  WriteOperation,
} from "../backend.ts";

/** Start and end of the range of all keys. */
const allKeys = Buffer.from([0]);
/** The comparison target MOD: the modification revision. */
const modRevisionTarget = 2;
const deleteEvent = 1;

export type RangeRequest = Omit<RangeOptions, "signal">;

export function encodeRange(request: RangeRequest): Buffer {
  const { from, to, limit = 0, revision = 0, keysOnly = false } = request;
  const writer = new WireWriter();
  if (from !== "") writer.string(1, from);
  if (to !== undefined && to !== "") writer.string(2, to);
  if (limit !== 0) writer.number(3, limit);
  if (revision !== 0) writer.number(4, revision);
  if (keysOnly) writer.bool(8, true);
  return writer.finish();
}

/** Counts a key that does not exist, so that the response consists of its header. */
export function encodeRevisionRequest(): Buffer {
  return new WireWriter().bytes(1, allKeys).bool(9, true).finish();
}

/** The revision in the header of a range response. */
export function decodeRevision(bytes: Buffer): number {
  return decodeRange(bytes).revision;
}

export function decodeRange(bytes: Buffer): RangeResult {
  return readRange(new WireReader(bytes));
}

function readRange(reader: WireReader): RangeResult {
  const entries: Entry[] = [];
  let [count, revision] = [0, 0];
  while (reader.next()) {
    if (reader.field === 1) revision = reader.message(readHeader);
    else if (reader.field === 2) entries.push(reader.message(readEntry));
    else if (reader.field === 4) count = reader.number();
    else reader.skip();
  }
  return { entries, count, revision };
}

/** `leases` are the lease ids of puts with a TTL, by index in `then`. */
export function encodeTransaction(
  { compare, then, otherwise }: Transaction,
  leases: readonly (string | undefined)[],
): Buffer {
  const writer = new WireWriter();
  for (const each of compare) writer.message(1, (inner) => writeCompare(inner, each));
  for (const [index, each] of then.entries()) {
    writer.message(2, (inner) => writeOperation(inner, each, leases[index]));
  }
  for (const key of otherwise) {
    writer.message(3, (inner) => inner.message(1, (range) => range.string(1, key)));
  }
  return writer.finish();
}

/** Writes a comparison for equality, which is the default. */
function writeCompare(writer: WireWriter, { key, modRevision }: Compare): void {
  writer.number(2, modRevisionTarget).string(3, key).number(6, modRevision);
}

function writeOperation(
  writer: WireWriter,
  operation: WriteOperation,
  lease: string | undefined,
): void {
  if ("delete" in operation) {
    writer.message(3, (inner) => inner.string(1, operation.delete).bool(3, true));
    return;
  }
  const { put, value } = operation;
  writer.message(2, (inner) => {
    inner.string(1, put).bytes(2, value);
    if (lease !== undefined) inner.number(3, BigInt(lease));
  });
}

export function decodeTransaction(bytes: Buffer): TransactionResult {
  const reader = new WireReader(bytes);
  const read: (Entry | undefined)[] = [];
  const deleted: Entry[] = [];
  let [succeeded, revision] = [false, 0];
  while (reader.next()) {
    if (reader.field === 1) revision = reader.message(readHeader);
    else if (reader.field === 2) succeeded = reader.number() === 1;
    else if (reader.field === 3) reader.message((inner) => readResponse(inner, { read, deleted }));
    else reader.skip();
  }
  return succeeded ? { succeeded, revision, read: [], deleted } : { succeeded, revision, read };
}

interface Responses {
  readonly read: (Entry | undefined)[];
  readonly deleted: Entry[];
}

function readResponse(reader: WireReader, { read, deleted }: Responses): void {
  while (reader.next()) {
    if (reader.field === 1) read.push(reader.message(readRange).entries[0]);
    else if (reader.field === 3) deleted.push(...reader.message(readDeleted));
    else reader.skip();
  }
}

function readDeleted(reader: WireReader): readonly Entry[] {
  const entries: Entry[] = [];
  while (reader.next()) {
    if (reader.field === 3) entries.push(reader.message(readEntry));
    else reader.skip();
  }
  return entries;
}

/** Creates a watch of all keys, with previous entries, progress notifications and fragments. */
export function encodeWatch(fromRevision: number): Buffer {
  return new WireWriter()
    .message(1, (create) =>
      create
        .bytes(1, allKeys)
        .bytes(2, allKeys)
        .number(3, fromRevision)
        .bool(4, true)
        .bool(6, true)
        .bool(8, true),
    )
    .finish();
}

export interface WatchResponse {
  readonly revision: number;
  readonly created: boolean;
  readonly canceled: boolean;
  /** The compacted revision if the watch was canceled because it starts before it, else 0. */
  readonly compactRevision: number;
  readonly cancelReason: string;
  /** Whether more events of the same response follow. */
  readonly fragment: boolean;
  readonly events: readonly StoreEvent[];
}

export function decodeWatch(bytes: Buffer): WatchResponse {
  const reader = new WireReader(bytes);
  const events: StoreEvent[] = [];
  let [revision, compactRevision, cancelReason] = [0, 0, ""];
  let [created, canceled, fragment] = [false, false, false];
  while (reader.next()) {
    if (reader.field === 1) revision = reader.message(readHeader);
    else if (reader.field === 3) created = reader.number() === 1;
    else if (reader.field === 4) canceled = reader.number() === 1;
    else if (reader.field === 5) compactRevision = reader.number();
    else if (reader.field === 6) cancelReason = reader.text();
    else if (reader.field === 7) fragment = reader.number() === 1;
    else if (reader.field === 11) events.push(reader.message(readEvent));
    else reader.skip();
  }
  return { revision, created, canceled, compactRevision, cancelReason, fragment, events };
}

/** Reads an event; its previous entry is absent if it has been compacted. */
function readEvent(reader: WireReader): StoreEvent {
  let type = 0;
  let entry: Entry | undefined;
  let previous: Entry | undefined;
  while (reader.next()) {
    if (reader.field === 1) type = reader.number();
    else if (reader.field === 2) entry = reader.message(readLongLivedEntry);
    else if (reader.field === 3) previous = reader.message(readLongLivedEntry);
    else reader.skip();
  }
  const current = entry ?? emptyEntry;
  if (type !== deleteEvent) return { type: "put", entry: current, previous };
  return { type: "delete", key: current.key, revision: current.modRevision, previous };
}

const emptyValue = Buffer.alloc(0);
const emptyEntry: Entry = { key: "", value: emptyValue, createRevision: 0, modRevision: 0 };

/** Reads an entry; its value is a view of the received message, or what `keep` makes of it. */
function readEntry(reader: WireReader, keep?: (view: Uint8Array) => Uint8Array): Entry {
  let [key, createRevision, modRevision] = ["", 0, 0];
  let value: Uint8Array = emptyValue;
  while (reader.next()) {
    if (reader.field === 1) key = reader.text();
    else if (reader.field === 2) createRevision = reader.number();
    else if (reader.field === 3) modRevision = reader.number();
    else if (reader.field === 5) value = reader.bytes();
    else reader.skip();
  }
  return { key, value: keep?.(value) ?? value, createRevision, modRevision };
}

/** Reads an entry of the history, where a view would keep all that was received with it. */
function readLongLivedEntry(reader: WireReader): Entry {
  return readEntry(reader, ownBytes);
}

/** The revision of a response's header. */
function readHeader(reader: WireReader): number {
  let revision = 0;
  while (reader.next()) {
    if (reader.field === 3) revision = reader.number();
    else reader.skip();
  }
  return revision;
}
