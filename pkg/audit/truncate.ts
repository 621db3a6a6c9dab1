import { type Domain, resolve } from "#meta";
import type { Backend, OnLoss } from "./backend.ts";
import { type AuditEvent, eventJson, truncatedKey } from "./event.ts";

export interface TruncateOptions {
  /** Maximum size of an event in bytes. A larger one loses its bodies, and is dropped if still too large. */
  readonly maxEventSize: number;
  /** Maximum size of a batch in bytes; a larger one is split. */
  readonly maxBatchSize: number;
}

/** Backend that truncates events and splits batches by size. */
export function truncating(
  backend: Backend,
  options: TruncateOptions,
  { domain, onLoss }: { readonly domain: Domain; readonly onLoss: OnLoss },
): Backend {
  const truncate = (event: AuditEvent): Sized | undefined => {
    const size = sizeOf(event);
    if (size <= options.maxEventSize) return { event, size };
    const truncated = withoutBodies(event, domain);
    const truncatedSize = sizeOf(truncated);
    if (truncatedSize <= options.maxEventSize) return { event: truncated, size: truncatedSize };
    const reason = `an event of ${size} bytes is too large even without its bodies`;
    onLoss("truncate", new Error(reason), 1);
    return undefined;
  };
  return {
    write: (events) => {
      const writes = batches(
        events.flatMap((event) => truncate(event) ?? []),
        options.maxBatchSize,
      ).flatMap((batch) => backend.write(batch) ?? []);
      return writes.length === 0 ? undefined : Promise.all(writes).then(() => undefined);
    },
    close: () => backend.close(),
  };
}

/** An event and the size of its JSON in bytes. */
interface Sized {
  readonly event: AuditEvent;
  readonly size: number;
}

function sizeOf(event: AuditEvent): number {
  return Buffer.byteLength(eventJson(event, undefined));
}

function withoutBodies(event: AuditEvent, domain: Domain): AuditEvent {
  const annotations = new Map(event.annotations).set(resolve(truncatedKey, domain), "true");
  return { ...event, requestObject: undefined, responseObject: undefined, annotations };
}

/** Splits events into batches of at most `maxSize` bytes, or of one larger event. */
function batches(events: readonly Sized[], maxSize: number): readonly (readonly AuditEvent[])[] {
  const result: AuditEvent[][] = [];
  let size = Infinity;
  for (const { event, size: own } of events) {
    if (size + own > maxSize) {
      result.push([]);
      size = 0;
    }
    result.at(-1)!.push(event);
    size += own;
  }
  return result;
}
