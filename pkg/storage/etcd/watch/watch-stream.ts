import type { StoreEvent } from "../../backend.ts";
import { EtcdCallError } from "../caller.ts";
import type { RawStream } from "../grpc/channel.ts";
import { revisionOfEvent } from "./store-event.ts";
import { failureOf } from "../grpc/failures.ts";
import type { EtcdConnection } from "../endpoint-pool.ts";
import { decodeWatch, type WatchResponse } from "../messages.ts";

/** A stretch of the store's history: whole revisions, in order. */
export interface EventChunk {
  /** All events after the chunk before, up to and including `revision`; none = only progress. */
  readonly events: readonly StoreEvent[];
  readonly revision: number;
  /** Bytes of keys and values, about. */
  readonly bytes: number;
}

/** The place to read from is gone; `oldest` is the first revision that is left. */
export class WatchCompacted extends Error {
  override readonly name = "WatchCompacted";
  constructor(readonly oldest: number) {
    super(`compacted up to ${oldest}`);
  }
}

/**
 * Reads the log of ALL keys from `fromRevision` on, until the signal aborts (it then returns) or
 * the stream breaks (it then throws). Paced by its reader. Because every transaction that writes
 * makes an event somewhere, the last event's revision tells exactly how far the history was read;
 * a watch of a part of the keys could not tell that (etcd before 3.4.25 and 3.5.8 reports progress
 * too early).
 */
export async function* readEvents(
  link: EtcdConnection,
  fromRevision: number,
  signal: AbortSignal,
): AsyncGenerator<EventChunk, void, undefined> {
  if (signal.aborted) return;
  const stream = opened(link, fromRevision);
  const cancel = (): void => stream.cancel();
  if (signal.aborted || link.closed.aborted) cancel();
  signal.addEventListener("abort", cancel, { once: true });
  link.closed.addEventListener("abort", cancel, { once: true });
  try {
    const assembly = new Assembly(fromRevision - 1);
    for await (const message of stream) {
      const chunk = assembly.take(decodeWatch(message));
      if (chunk !== undefined) yield chunk;
    }
    throw new Error("the watch stream ended");
  } catch (error) {
    if (signal.aborted) return;
    throw error instanceof WatchCompacted ? error : new EtcdCallError(failureOf(error));
  } finally {
    signal.removeEventListener("abort", cancel);
    link.closed.removeEventListener("abort", cancel);
    stream.cancel();
  }
}

function opened(link: EtcdConnection, fromRevision: number): RawStream {
  try {
    return link.client.watch(fromRevision);
  } catch (error) {
    throw new EtcdCallError(failureOf(error));
  }
}

/** Makes chunks of what a watch answers. */
class Assembly {
  #fragments: readonly StoreEvent[] = [];
  /** The history was read up to here. */
  #through: number;

  constructor(through: number) {
    this.#through = through;
  }

  /** Undefined when nothing new is complete. Throws LogCompacted when the watch cannot be. */
  take(response: WatchResponse): EventChunk | undefined {
    if (response.canceled) throw canceled(response);
    if (response.created) return undefined;
    if (response.events.length === 0) {
      // Progress of this very watcher (never asked for by hand), so it is in order with its events.
      this.#through = Math.max(this.#through, response.revision);
      return { events: [], revision: this.#through, bytes: 0 };
    }
    const before = this.#fragments;
    const events = before.length === 0 ? response.events : before.concat(response.events);
    this.#fragments = response.fragment ? events : [];
    if (response.fragment) return undefined;
    const chunk = chunkOf(events, this.#through);
    this.#through = chunk?.revision ?? this.#through;
    return chunk;
  }
}

function canceled({ compactRevision, cancelReason }: WatchResponse): Error {
  if (compactRevision > 0) return new WatchCompacted(compactRevision);
  return new Error(`watch canceled: ${cancelReason}`);
}

/** Undefined when all of it was seen before. */
function chunkOf(events: readonly StoreEvent[], through: number): EventChunk | undefined {
  const fresh: StoreEvent[] = [];
  let bytes = 0;
  for (const event of events) {
    if (revisionOfEvent(event) <= through) continue;
    fresh.push(event);
    bytes += sizeOf(event);
  }
  const last = fresh.at(-1);
  return last && { events: fresh, revision: revisionOfEvent(last), bytes };
}

function sizeOf(event: StoreEvent): number {
  const put = event.type === "put" ? event.entry.key.length + event.entry.value.length : 64;
  return put + (event.previous?.value.length ?? 0) + 100;
}
