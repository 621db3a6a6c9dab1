import { type Domain, resolve } from "#meta";
import type { Backend, OnLoss } from "./backend.ts";
import { type AuditEvent, eventJson, truncatedKey } from "./event.ts";

export interface TruncateOptions {
  /** In bytes; a larger event loses its bodies, and is dropped if still too large. */
  readonly maxEventSize: number;
  /** In bytes; larger batches are split. */
  readonly maxBatchSize: number;
}

/** Backend that truncates events and splits batches by size. */
export function truncating(
  backend: Backend,
  options: TruncateOptions,
  { domain, onLoss }: { readonly domain: Domain; readonly onLoss: OnLoss },
): Backend {
  const fitting = (event: AuditEvent): Sized | undefined => {
    const size = sizeOf(event);
    if (size <= options.maxEventSize) return { event, size };
    const cut = withoutBodies(event, domain);
    const cutSize = sizeOf(cut);
    if (cutSize <= options.maxEventSize) return { event: cut, size: cutSize };
    const story = `an event of ${size} bytes is too large even without its bodies`;
    onLoss("truncate", new Error(story), 1);
    return undefined;
  };
  return {
    write: (events) => {
      const waits = batches(
        events.flatMap((event) => fitting(event) ?? []),
        options.maxBatchSize,
      ).flatMap((batch) => backend.write(batch) ?? []);
      return waits.length === 0 ? undefined : Promise.all(waits).then(() => undefined);
    },
    close: () => backend.close(),
  };
}

interface Sized {
  readonly event: AuditEvent;
  /** In bytes. */
  readonly size: number;
}

function sizeOf(event: AuditEvent): number {
  return Buffer.byteLength(eventJson(event, undefined));
}

function withoutBodies(event: AuditEvent, domain: Domain): AuditEvent {
  const annotations = new Map(event.annotations).set(resolve(truncatedKey, domain), "true");
  return { ...event, requestObject: undefined, responseObject: undefined, annotations };
}

function batches(events: readonly Sized[], most: number): readonly (readonly AuditEvent[])[] {
  const made: AuditEvent[][] = [];
  let size = Infinity;
  for (const { event, size: own } of events) {
    if (size + own > most) {
      made.push([]);
      size = 0;
    }
    made.at(-1)!.push(event);
    size += own;
  }
  return made;
}
