import { concatBytes, type CacheBudget, type Evictable, ownBytes, yieldEvery } from "#base";
import { type Resource, type Status, StatusError } from "#meta";
import type { EventBatch, ItemEvent, ObjectEvent } from "#registry";
import { delimitedSize, fromJson, toJson, WireWriter } from "#schema";
import {
  itemJson,
  itemEnvelope,
  partialPieces,
  partialTypeMeta,
  type Pieces,
  metadataAlone,
  statusBody,
  structEnvelope,
  typeMetaOf,
} from "../response/encode.ts";
import { joined } from "../response/response-writer.ts";
import type { ResponseBufferPool } from "../response/response-buffer-pool.ts";
import type { ResponseStream } from "../transport/exchange.ts";
import type { WatchCounter } from "../metrics/watching.ts";
import { type Format, mediaTypes, type Negotiated } from "../response/negotiation.ts";
import {
  joinChunks,
  objectRowJson,
  rowJson,
  tableHead,
  tableTail,
  type TableView,
} from "../response/table.ts";

export interface WatchView extends Negotiated {
  readonly resource: Resource;
  readonly table: TableView | undefined;
  /** Budget of the frames that are cached with their events. */
  readonly messages: CacheBudget;
  /** Key of the annotation that marks the end of the initial events. */
  readonly initialEventsEnd: string;
}

export function watchContentType(format: Format): string {
  return format === "json" ? mediaTypes.json : `${mediaTypes[format]};stream=watch`;
}

/** Approximate size of one write in bytes: smaller frames are sent together. */
const maxWriteBytes = 16 * 1024;

/** Time in ms after which a write ends early, as table rows of large objects are slow to encode. */
const maxEncodeMs = 5;

interface Write {
  readonly bytes: Uint8Array;
  /** Number of events. */
  readonly count: number;
}

/**
 * Encodes the events of one watch. Frames are cached with the event or batch, and shared by watches of
 * the same form. Only the first event of a Table has column definitions.
 */
class EventEncoder {
  private columns = true;
  /** Watches of a resource with the same form share encoded events; "" = not shared. */
  private readonly form: string;

  constructor(private readonly view: WatchView) {
    const { format, as, table } = view;
    const words = as === undefined ? [format] : [format, as.kind, as.group, as.version];
    this.form = table === undefined ? words.join(" ") : "";
  }

  /**
   * The frames of a batch in writes of about `maxWriteBytes`; a watch whose client does not read holds one
   * of them. Watches of the same form share the write of a small batch, and frames of large events.
   */
  *writes({ events, encoded }: EventBatch): Generator<Write, void, undefined> {
    const known = encoded?.get(this.form);
    if (known !== undefined) return yield { bytes: known, count: events.length };
    let frames: Uint8Array[] = [];
    let size = 0;
    let isSingleWrite = true;
    let since = performance.now();
    for (const event of events) {
      const isLate = size > 0 && performance.now() - since > maxEncodeMs;
      const frame = this.shared(event);
      if (isLate || (size > 0 && size + frame.byteLength > maxWriteBytes)) {
        yield { bytes: oneWrite(frames), count: frames.length };
        [frames, size, isSingleWrite] = [[], 0, false];
        since = performance.now();
      }
      frames.push(frame);
      size += frame.byteLength;
    }
    const bytes = oneWrite(frames);
    if (isSingleWrite && this.form !== "") encoded?.set(this.form, bytes);
    yield { bytes, count: frames.length };
  }

  /** Whether the encoded bytes are not shared with other watches. */
  get isUnshared(): boolean {
    return this.form === "";
  }

  /** One frame: a line of JSON, or a length (four bytes, big-endian) and a Protobuf WatchEvent. */
  frame(event: ItemEvent): Uint8Array {
    if (this.view.format === "protobuf") {
      return protobufFrame(event.type, this.protobufObject(event));
    }
    const pieces = [`{"type":"${event.type}","object":`, ...this.jsonObject(event), "}\n"];
    let size = 0;
    for (const piece of pieces) {
      size += typeof piece === "string" ? Buffer.byteLength(piece) : piece.byteLength;
    }
    return joined(pieces, size);
  }

  private shared(event: ItemEvent): Uint8Array {
    if (this.form === "" || !("encoded" in event)) return this.frame(event);
    const frames = framesOf(event);
    const known = frames.byForm.get(this.form);
    if (known !== undefined) return known;
    // A frame from Node's pool of small Buffers would keep 64 KiB alive.
    const frame = ownBytes(this.frame(event));
    frames.byForm.set(this.form, frame);
    this.view.messages.add(frames, frame.byteLength + 200);
    return frame;
  }

  private jsonObject(event: ItemEvent): Pieces {
    const { resource, as, table } = this.view;
    if (event.type === "ERROR") return [errorJson(event.status)];
    if (table !== undefined) return [this.tableOf(event, table)];
    if (event.type === "BOOKMARK") {
      const object = this.bookmark(event);
      if (as === undefined) return [toJson(resource.struct, object, typeMetaOf(resource))];
      return partialPieces(object.metadata, partialTypeMeta(as), "json");
    }
    if (as === undefined) return itemJson(event.item, false);
    return partialPieces(metadataAlone(event.item), partialTypeMeta(as), "json");
  }

  private tableOf(event: Exclude<ItemEvent, { type: "ERROR" }>, view: TableView): string {
    const { resource } = this.view;
    const object = event.type === "BOOKMARK" ? this.bookmark(event) : event.item.object;
    const row =
      event.type === "BOOKMARK"
        ? objectRowJson(resource, object, bookmarkView(event, view))
        : rowJson(event.item, view);
    const metadata = { resourceVersion: object.metadata.resourceVersion };
    const head = tableHead(resource, view, { metadata, columns: this.columns });
    this.columns = false;
    return head + row + tableTail;
  }

  private protobufObject(event: ItemEvent): Uint8Array {
    const { resource, as } = this.view;
    if (event.type === "ERROR") {
      const negotiated = { format: "protobuf", as: undefined, pretty: false } as const;
      return bytesOf(statusBody(event.status, negotiated));
    }
    if (as !== undefined) {
      const metadata =
        event.type === "BOOKMARK" ? this.bookmark(event).metadata : metadataAlone(event.item);
      return onlyPiece(partialPieces(metadata, partialTypeMeta(as), "protobuf"));
    }
    if (event.type === "BOOKMARK") {
      return structEnvelope(resource.struct, this.bookmark(event), typeMetaOf(resource));
    }
    return itemEnvelope(event.item, this.view.messages);
  }

  /** An empty object of the kind with the resourceVersion. */
  private bookmark(event: Extract<ItemEvent, { type: "BOOKMARK" }>): any {
    const annotations = event.initialEventsEnd ? { [this.view.initialEventsEnd]: "true" } : {};
    const metadata = { resourceVersion: String(event.revision), annotations };
    return fromJson(this.view.resource.struct, { metadata });
  }
}

/** The row of the bookmark after the initial events includes metadata, for its annotation. */
function bookmarkView(
  { initialEventsEnd }: Extract<ItemEvent, { type: "BOOKMARK" }>,
  view: TableView,
): TableView {
  return initialEventsEnd && view.include === "None" ? { ...view, include: "Metadata" } : view;
}

/** Joins frames; a single frame is not copied, since other watches hold the same bytes. */
function oneWrite(frames: readonly Uint8Array[]): Uint8Array {
  return frames.length === 1 ? frames[0]! : concatBytes(frames);
}

/** Cached frames of an event, by form. */
class Frames implements Evictable {
  readonly byForm = new Map<string, Uint8Array>();

  evict(): void {
    this.byForm.clear();
  }
}

function framesOf(event: ObjectEvent): Frames {
  event.encoded ??= new Frames();
  return event.encoded as Frames;
}

/**
 * Length-prefixed WatchEvent: field 1 is the type, field 2 a RawExtension whose field 1 is the
 * enveloped object. The bytes of the object are copied once.
 */
function protobufFrame(type: string, object: Uint8Array): Uint8Array {
  const { byteLength } = object;
  const head = new WireWriter()
    .string(1, type)
    .prefix(2, delimitedSize(byteLength))
    .prefix(1, byteLength)
    .finish();
  const size = head.byteLength + byteLength;
  const length = Buffer.alloc(4);
  length.writeUInt32BE(size);
  return Buffer.concat([length, head, object], 4 + size);
}

function errorJson(status: Status): string {
  return bytesText(statusBody(status, { format: "json", as: undefined, pretty: false })).trimEnd();
}

function bytesText(piece: string | Uint8Array): string {
  return typeof piece === "string" ? piece : joinChunks([piece]);
}

function bytesOf(piece: string | Uint8Array): Uint8Array {
  return typeof piece === "string" ? Buffer.from(piece) : piece;
}

function onlyPiece(pieces: Pieces): Uint8Array {
  return bytesOf(pieces[0]!);
}

/**
 * Delay in ms of the response headers of a watch: an earlier failure is an error response, a later one
 * an ERROR event.
 */
const headersDelayMs = 25;

export interface StreamOptions {
  readonly view: WatchView;
  /** Sends status and headers; calling it again does nothing. */
  readonly start: () => void;
  readonly ended: AbortSignal;
  /** Time in ms after which a watch ends whose client does not read. */
  readonly patience: number;
  /** Budget of frames that only one watch sends; the watch ends if it is exceeded. */
  readonly memory: ResponseBufferPool;
  /** Called for the events that are sent. */
  readonly count?: WatchCounter;
  /** Called with the age in seconds of the oldest change of a batch, as the batch is sent. */
  readonly delivered?: (seconds: number) => void;
  /** Called when the client has not read for too long. */
  readonly late?: () => void;
}

/**
 * Sends events until they end, the client disconnects or `ended` aborts, which must also end the events;
 * then ends the stream. A client that does not read blocks only its own watch, for at most `patience`.
 */
export async function streamEvents(
  response: ResponseStream,
  events: AsyncIterableIterator<EventBatch>,
  options: StreamOptions,
): Promise<void> {
  const { start, ended, view } = options;
  const encoder = new EventEncoder(view);
  const headersTimer = setTimeout(start, headersDelayMs);
  try {
    for (;;) {
      const step = await events.next();
      if (step.done || ended.aborted) break;
      start();
      if (view.as?.kind === "PartialObjectMetadataList") break;
      if (!(await sendBatch(response, encoder, step.value, options))) break;
      if (ended.aborted || step.value.events.at(-1)?.type === "ERROR") break;
    }
  } catch (error) {
    if (ended.aborted) return;
    if (!response.started || !(error instanceof StatusError)) throw error;
    await response.write([encoder.frame({ type: "ERROR", status: error.status })]);
  } finally {
    clearTimeout(headersTimer);
    void events.return?.();
  }
}

/** False if the watch has ended, or the client did not read in time. */
async function sendBatch(
  response: ResponseStream,
  encoder: EventEncoder,
  batch: EventBatch,
  options: StreamOptions,
): Promise<boolean> {
  const turn = yieldEvery();
  const { committedAt } = batch;
  if (committedAt !== undefined) options.delivered?.((performance.now() - committedAt) / 1000);
  for (const { bytes, count } of encoder.writes(batch)) {
    options.count?.(count, bytes.byteLength);
    const release = encoder.isUnshared ? options.memory.hold(bytes.byteLength) : noRelease;
    if (release === undefined) return false;
    try {
      const full = response.write([bytes]);
      if (full !== undefined && !(await isDrainedInTime(full, options))) return false;
    } finally {
      release();
    }
    if (options.ended.aborted) return false;
    await turn();
  }
  return true;
}

const noRelease = (): void => undefined;

/** Waits until the client reads; false if the watch has ended, or the client took too long. */
async function isDrainedInTime(full: Promise<void>, options: StreamOptions): Promise<boolean> {
  const { ended, patience } = options;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => {
      options.late?.();
      resolve(false);
    }, patience);
  });
  try {
    const room = orEnded(
      full.then(() => true),
      ended,
    ).then((value) => value === true);
    return await Promise.race([room, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** The result of the promise; undefined if `ended` aborts first. */
function orEnded<T>(step: Promise<T>, ended: AbortSignal): Promise<T | undefined> {
  if (ended.aborted) {
    step.catch(() => undefined);
    return Promise.resolve(undefined);
  }
  return new Promise((resolve, reject) => {
    const onAbort = () => resolve(undefined);
    ended.addEventListener("abort", onAbort, { once: true });
    const settle = () => ended.removeEventListener("abort", onAbort);
    step.then(
      (value) => (settle(), resolve(value)),
      (error: unknown) => (settle(), reject(error)),
    );
  });
}
