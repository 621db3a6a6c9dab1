import type { IEvent, IWatchRequest, IWatchResponse } from "etcd3";
import type { StoreEvent } from "../backend.ts";
import { callOptions, CallFailure } from "./caller.ts";
import { eventOf, revisionOf, revisionOfEvent } from "./convert.ts";
import { failureOf } from "./failures.ts";
import type { Link } from "./links.ts";

/** A stretch of the store's history: whole revisions, in order. */
export interface LogChunk {
  /** All events after the chunk before, up to and including `revision`; none = only progress. */
  readonly events: readonly StoreEvent[];
  readonly revision: number;
  /** Bytes of keys and values, about. */
  readonly bytes: number;
}

/** The place to read from is gone; `oldest` is the first revision that is left. */
export class LogCompacted extends Error {
  override readonly name = "LogCompacted";
  constructor(readonly oldest: number) {
    super(`compacted up to ${oldest}`);
  }
}

/** Every key there is: the range from the zero byte to "no end". */
const everything = Buffer.from([0]);

type Stream = AsyncIterable<IWatchResponse> & {
  write(request: IWatchRequest): void;
  cancel(): void;
  on(event: "error", listener: (error: Error) => void): unknown;
};

/**
 * Reads the log of ALL keys from `fromRevision` on, until the signal aborts (it then returns) or
 * the stream breaks (it then throws). Paced by its reader. Because every transaction that writes
 * makes an event somewhere, the last event's revision tells exactly how far the history was read;
 * a watch of a part of the keys could not tell that (etcd before 3.4.25 and 3.5.8 reports progress
 * too early).
 */
export async function* readLog(
  link: Link,
  fromRevision: number,
  signal: AbortSignal,
): AsyncGenerator<LogChunk, void, undefined> {
  if (signal.aborted) return;
  const { options } = callOptions(undefined);
  const stream = (await link.etcd.watchClient.watch(options)) as unknown as Stream;
  // Errors reach the reader through the iteration; a later one (of the cancelling) is expected.
  stream.on("error", () => {});
  const cancel = (): void => stream.cancel();
  signal.addEventListener("abort", cancel, { once: true });
  link.dropped.addEventListener("abort", cancel, { once: true });
  try {
    stream.write({ create_request: createRequest(fromRevision) });
    yield* chunks(stream, fromRevision);
  } catch (error) {
    if (signal.aborted) return;
    throw error instanceof LogCompacted ? error : new CallFailure(failureOf(error));
  } finally {
    signal.removeEventListener("abort", cancel);
    link.dropped.removeEventListener("abort", cancel);
    stream.cancel();
  }
}

function createRequest(fromRevision: number): NonNullable<IWatchRequest["create_request"]> {
  return {
    key: everything,
    range_end: everything,
    start_revision: String(fromRevision),
    prev_kv: true,
    progress_notify: true,
    fragment: true,
  };
}

async function* chunks(
  stream: Stream,
  fromRevision: number,
): AsyncGenerator<LogChunk, void, undefined> {
  let fragments: IEvent[] = [];
  let through = fromRevision - 1;
  for await (const response of stream) {
    if (response.canceled) throw canceled(response);
    if (response.created) continue;
    if (response.events.length === 0) {
      // Progress of this very watcher (never asked for by hand), so it is in order with its events.
      through = Math.max(through, revisionOf(response.header.revision));
      yield { events: [], revision: through, bytes: 0 };
      continue;
    }
    fragments = fragments.length === 0 ? response.events : fragments.concat(response.events);
    if (response.fragment) continue;
    const chunk = chunkOf(fragments, through);
    fragments = [];
    if (chunk === undefined) continue;
    through = chunk.revision;
    yield chunk;
  }
  throw new Error("the watch stream ended");
}

function canceled({ compact_revision, cancel_reason }: IWatchResponse): Error {
  const oldest = revisionOf(compact_revision);
  return oldest > 0 ? new LogCompacted(oldest) : new Error(`watch canceled: ${cancel_reason}`);
}

/** Undefined when all of it was seen before. */
function chunkOf(events: readonly IEvent[], through: number): LogChunk | undefined {
  const fresh: StoreEvent[] = [];
  let bytes = 0;
  for (const raw of events) {
    const event = eventOf(raw);
    if (revisionOfEvent(event) <= through) continue;
    fresh.push(event);
    bytes += sizeOf(event);
  }
  const last = fresh.at(-1);
  return last && { events: fresh, revision: revisionOfEvent(last), bytes };
}

function sizeOf({ previous, ...event }: StoreEvent): number {
  const put = event.type === "put" ? event.entry.key.length + event.entry.value.length : 64;
  return put + (previous?.value.length ?? 0) + 100;
}
