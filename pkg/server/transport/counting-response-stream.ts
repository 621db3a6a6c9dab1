import type { Duplex, Writable } from "node:stream";
import type { ResponseHeaders, ResponseStream, ResponseObserver } from "./exchange.ts";

/** Base of all response streams: counts the sent bytes and notifies the observer. */
export abstract class CountingResponseStream implements ResponseStream {
  observer: ResponseObserver | undefined;
  handedOver = false;
  private code: number | undefined;
  private count = 0;

  get started(): boolean {
    return this.code !== undefined;
  }

  get status(): number | undefined {
    return this.code;
  }

  get sent(): number {
    return this.count;
  }

  addHeader(name: string, value: string): void {
    this.common[name] = value;
  }

  start(status: number, headers: ResponseHeaders): void {
    if (this.code !== undefined) return;
    this.code = status;
    this.begin(status, headers);
    this.observer?.started(status, headers);
  }

  handOver(status: number): void {
    if (this.code !== undefined) return;
    this.code = status;
    this.handedOver = true;
    this.observer?.started(status, {});
  }

  write(chunks: readonly Uint8Array[], free?: () => void): Promise<void> | undefined {
    if (this.closed) return undefined;
    for (const chunk of chunks) this.note(chunk);
    return this.put(chunks, free);
  }

  end(chunk?: Uint8Array): void {
    if (this.closed) return;
    if (chunk !== undefined) this.note(chunk);
    this.finish(chunk);
  }

  /** Headers of this response, for any status. */
  protected abstract readonly common: Record<string, string>;
  abstract flush(): void;
  abstract destroy(): void;
  abstract readonly closed: boolean;
  protected abstract begin(status: number, headers: ResponseHeaders): void;
  protected abstract put(
    chunks: readonly Uint8Array[],
    free?: () => void,
  ): Promise<void> | undefined;
  protected abstract finish(chunk?: Uint8Array): void;

  private note(chunk: Uint8Array): void {
    this.count += chunk.byteLength;
    this.observer?.wrote(chunk);
  }
}

/**
 * Resolves when the stream accepts more data, or is closed.
 *
 * @param connection Socket whose end counts as well, and whose drain while `isSending` returns true
 */
export function drained(
  stream: Writable,
  connection?: { readonly socket: Duplex; readonly isSending: () => boolean },
): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      stream.off("drain", done);
      stream.off("close", done);
      connection?.socket.off("drain", drain);
      connection?.socket.off("close", done);
      resolve();
    };
    const drain = () => {
      if (connection?.isSending() === true) done();
    };
    stream.on("drain", done);
    stream.on("close", done);
    connection?.socket.on("drain", drain);
    connection?.socket.on("close", done);
  });
}
