import type { X509Certificate } from "node:crypto";
import type { Readable } from "node:stream";
import type { TLSSocket } from "node:tls";
import { type Awaitable, memoize } from "#base";
import type { PeerCertificate } from "#request";
import type { BodyObserver } from "./exchange.ts";
import { bodyTooLarge, deadlineExceeded } from "../response/failures.ts";

/**
 * The abort state of a request. Its AbortSignal is created on demand, because most requests complete
 * without a handler that uses it.
 */
export class Life {
  private controller: AbortController | undefined;
  private readonly listeners = new Set<(reason: Error) => void>();
  private ending: Error | undefined;

  get signal(): AbortSignal {
    if (this.controller === undefined) {
      this.controller = new AbortController();
      if (this.ending !== undefined) this.controller.abort(this.ending);
    }
    return this.controller.signal;
  }

  /** The abort reason; undefined if not aborted. */
  get reason(): Error | undefined {
    return this.ending;
  }

  abort(reason: Error): void {
    if (this.ending !== undefined) return;
    this.ending = reason;
    this.controller?.abort(reason);
    for (const listener of this.listeners) listener(reason);
    this.listeners.clear();
  }

  /** Calls back on abort, immediately if aborted already; returns a function that unregisters it. */
  onAbort(listener: (reason: Error) => void): () => void {
    if (this.ending !== undefined) listener(this.ending);
    else this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
}

/** Raw headers: alternating names and values, as sent. */
export function valuesOf(rawHeaders: readonly string[], name: string): readonly string[] {
  const values: string[] = [];
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const sent = rawHeaders[i]!;
    if (sent.length === name.length && sent.toLowerCase() === name) values.push(rawHeaders[i + 1]!);
  }
  return values;
}

export function valuesBelow(
  rawHeaders: readonly string[],
  prefix: string,
): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, readonly string[]>();
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!.toLowerCase();
    if (name.startsWith(prefix)) found.set(name, [...(found.get(name) ?? []), rawHeaders[i + 1]!]);
  }
  return found;
}

/** Limit of certificates that are read of a client's chain, longer than any real chain. */
const maxChainLength = 10;

/** The certificate of a client, cached per connection. */
export const certificateOf = memoize((socket: TLSSocket): PeerCertificate | undefined => {
  const chain: X509Certificate[] = [];
  let next = socket.getPeerX509Certificate?.();
  while (next !== undefined && chain.length < maxChainLength) {
    chain.push(next);
    next = next.issuerCertificate;
  }
  return chain.length === 0 ? undefined : { chain };
});

interface GatherOptions {
  /** In bytes. */
  readonly limit: number;
  /** Time limit for the complete body in ms. */
  readonly milliseconds: number;
  readonly life: Life;
  readonly observer?: BodyObserver | undefined;
  /** Length in bytes that the request announces. */
  readonly announced?: number | undefined;
}

/** The data that a body has buffered; null if there is none. */
function buffered(body: Readable, { isExact }: { readonly isExact: boolean }): Uint8Array | null {
  return body.read(isExact ? body.readableLength : undefined);
}

/**
 * Reads a complete body. Data after a failure is discarded. A body with Content-Length is read by exact
 * sizes, so that "end" is emitted only after the response: after "end", Node destroys an HTTP/2 stream
 * during the last write of the response, and creates an error with a stack trace.
 */
export function gather(body: Readable, options: GatherOptions): Promise<Uint8Array> {
  const { limit, milliseconds, life, observer, announced } = options;
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = [];
    const next = () => buffered(body, { isExact: announced !== undefined });
    let size = 0;
    let forget = (): void => undefined;
    const leave = () => void body.off("readable", onReadable).off("end", onEnd);
    const settle = () => {
      clearTimeout(timer);
      leave();
      forget();
      observer?.ended();
    };
    const fail = (error: unknown) => {
      settle();
      body.resume();
      reject(error);
    };
    const tell = (step: () => void): boolean => {
      try {
        step();
        return true;
      } catch (error) {
        fail(error);
        return false;
      }
    };
    const succeed = () => {
      settle();
      resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, size));
    };
    const onReadable = () => {
      // Until null: a read may itself receive more data, for which "readable" is not emitted again.
      for (let chunk = next(); chunk !== null; chunk = next()) {
        const { byteLength } = chunk;
        size += byteLength;
        if (size > limit) return fail(bodyTooLarge(limit));
        if (!tell(() => observer?.received(byteLength))) return;
        chunks.push(chunk);
        if (size === announced) return onEnd();
      }
    };
    const onEnd = () => {
      leave();
      let wait: Awaitable<void> = undefined;
      if (!tell(() => (wait = observer?.arrived()))) return;
      if (wait === undefined) return succeed();
      Promise.resolve(wait).then(succeed, fail);
    };
    const timer = setTimeout(() => fail(deadlineExceeded()), milliseconds);
    if (life.reason !== undefined) return fail(life.reason);
    if (!tell(() => observer?.waiting())) return;
    forget = life.onAbort(fail);
    // Node emits "end" of an empty body whether it is read or not.
    if (announced === 0 || body.readableEnded) return onEnd();
    body.on("readable", onReadable);
    body.on("end", onEnd);
  });
}
