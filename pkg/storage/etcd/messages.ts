/** etcd's messages: field numbers are those of its rpc.proto and kv.proto. */
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

/** Every key there is: the range from the zero byte to "no end". */
const everything = Buffer.from([0]);
/** What a comparison looks at: the revision of the last change. */
const MOD = 2;
const DELETE = 1;

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

/** Counts a key that never exists, so that nothing but the header comes back. */
export function encodeRevisionRequest(): Buffer {
  return new WireWriter().bytes(1, everything).bool(9, true).finish();
}

/** The revision of an answer whose header is all that matters. */
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

/** `leases` are those of the puts with a time to live, by their index in `then`. */
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

/** The result that is compared for is left out: 0 is "equal". */
function writeCompare(writer: WireWriter, { key, modRevision }: Compare): void {
  writer.number(2, MOD).string(3, key).number(6, modRevision);
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

/** A watch of all keys from a revision on, with previous entries, progress and fragments. */
export function encodeWatch(fromRevision: number): Buffer {
  return new WireWriter()
    .message(1, (create) =>
      create
        .bytes(1, everything)
        .bytes(2, everything)
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
  /** 0 unless the watch was canceled because its start is compacted. */
  readonly compactRevision: number;
  readonly cancelReason: string;
  /** More events of this response follow. */
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

/** An event whose past is compacted comes without its previous entry. */
function readEvent(reader: WireReader): StoreEvent {
  let type = 0;
  let entry: Entry | undefined;
  let previous: Entry | undefined;
  while (reader.next()) {
    if (reader.field === 1) type = reader.number();
    else if (reader.field === 2) entry = reader.message(readEntry);
    else if (reader.field === 3) previous = reader.message(readEntry);
    else reader.skip();
  }
  const stood = entry ?? noEntry;
  if (type !== DELETE) return { type: "put", entry: stood, previous };
  return { type: "delete", key: stood.key, revision: stood.modRevision, previous };
}

const nothing = Buffer.alloc(0);
const noEntry: Entry = { key: "", value: nothing, createRevision: 0, modRevision: 0 };

/** The value is a view into the received message, not a copy. */
function readEntry(reader: WireReader): Entry {
  let [key, createRevision, modRevision] = ["", 0, 0];
  let value: Uint8Array = nothing;
  while (reader.next()) {
    if (reader.field === 1) key = reader.text();
    else if (reader.field === 2) createRevision = reader.number();
    else if (reader.field === 3) modRevision = reader.number();
    else if (reader.field === 5) value = reader.bytes();
    else reader.skip();
  }
  return { key, value, createRevision, modRevision };
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
