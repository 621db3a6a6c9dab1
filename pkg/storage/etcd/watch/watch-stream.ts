import type { StoreEvent } from "../../backend.ts";
import { EtcdCallError } from "../caller.ts";
import type { RawStream } from "../grpc/channel.ts";
import { revisionOfEvent } from "./store-event.ts";
import { failureOf } from "../grpc/failures.ts";
import type { EtcdConnection } from "../endpoint-pool.ts";
import { decodeWatch, type WatchResponse } from "../messages.ts";

/** Consecutive events of complete revisions. */
export interface EventChunk {
  /** All events after the previous chunk up to and including `revision`; empty = progress. */
  readonly events: readonly StoreEvent[];
  readonly revision: number;
  /** Approximate size of keys and values in bytes. */
  readonly bytes: number;
}

/** The start revision of the watch has been compacted; `oldest` is the oldest readable revision. */
export class WatchCompacted extends Error {
  override readonly name = "WatchCompacted";
  constructor(readonly oldest: number) {
    super(`compacted up to ${oldest}`);
  }
}

/**
 * Watches all keys from `fromRevision` on; returns when the signal aborts and throws when the stream
 * fails. Applies backpressure. As each revision has an event in a watch of all keys, the last event
 * determines the position exactly, whereas progress notifications of partial watches are unreliable
 * before etcd 3.4.25 and 3.5.8.
 */
export async function* readEvents(
  connection: EtcdConnection,
  fromRevision: number,
  signal: AbortSignal,
): AsyncGenerator<EventChunk, void, undefined> {
  if (signal.aborted) return;
  const stream = openStream(connection, fromRevision);
  const cancel = (): void => stream.cancel();
  if (signal.aborted || connection.closed.aborted) cancel();
  signal.addEventListener("abort", cancel, { once: true });
  connection.closed.addEventListener("abort", cancel, { once: true });
  try {
    const assembler = new ChunkAssembler(fromRevision - 1);
    for await (const message of stream) {
      const chunk = assembler.take(decodeWatch(message));
      if (chunk !== undefined) yield chunk;
    }
    throw new Error("the watch stream ended");
  } catch (error) {
    if (signal.aborted) return;
    throw error instanceof WatchCompacted ? error : new EtcdCallError(failureOf(error));
  } finally {
    signal.removeEventListener("abort", cancel);
    connection.closed.removeEventListener("abort", cancel);
    stream.cancel();
  }
}

function openStream(connection: EtcdConnection, fromRevision: number): RawStream {
  try {
    return connection.client.watch(fromRevision);
  } catch (error) {
    throw new EtcdCallError(failureOf(error));
  }
}

/** Assembles the responses of a watch into chunks. */
class ChunkAssembler {
  #fragments: readonly StoreEvent[] = [];
  /** Revision up to which all events have been received. */
  #through: number;

  constructor(through: number) {
    this.#through = through;
  }

  /**
   * The chunk that the response completes, if any.
   * @throws WatchCompacted, or Error for a watch that is canceled for another reason
   */
  take(response: WatchResponse): EventChunk | undefined {
    if (response.canceled) throw canceled(response);
    if (response.created) return undefined;
    if (response.events.length === 0) {
      // An automatic progress notification of this watch, which is ordered with its events.
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

/** A chunk of the events after `through`; undefined if there are none. */
function chunkOf(events: readonly StoreEvent[], through: number): EventChunk | undefined {
  const newEvents: StoreEvent[] = [];
  let bytes = 0;
  for (const event of events) {
    if (revisionOfEvent(event) <= through) continue;
    newEvents.push(event);
    bytes += sizeOf(event);
  }
  const last = newEvents.at(-1);
  return last && { events: newEvents, revision: revisionOfEvent(last), bytes };
}

function sizeOf(event: StoreEvent): number {
  const put = event.type === "put" ? event.entry.key.length + event.entry.value.length : 64;
  return put + (event.previous?.value.length ?? 0) + 100;
}
