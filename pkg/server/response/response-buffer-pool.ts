import { memoize } from "#base";
import { seatsTaken } from "./failures.ts";
import type { Limits } from "../limits.ts";

/** Chunks in memory per large response: one being filled, one being sent, copies. */
const chunksPerSize = 4;
const minChunkBytes = 16 * 1024;
const maxChunkBytes = 128 * 1024;
/** Limit of free chunks in the pool. */
const maxFreeBuffers = 64;

/**
 * A memory budget for all chunked responses. Each response holds a few chunks and waits for its client
 * before it fills the next one. More concurrent responses have smaller chunks; if the budget does not
 * suffice for the smallest, requests are rejected with 429.
 *
 *     256 MiB: 512 responses have chunks of 128 KiB, 1024 of 64 KiB, 4096 of 16 KiB
 */
export class ResponseBufferPool {
  private active = 0;
  private readonly free: Buffer[] = [];

  constructor(
    /** In bytes. */
    private readonly budget: number,
    private readonly retryAfterSeconds: number,
  ) {}

  /** Registers a chunked response. Throws StatusError 429 if the budget is exhausted. */
  enter(): void {
    if ((this.active + 1) * chunksPerSize * minChunkBytes > this.budget) {
      throw seatsTaken(this.retryAfterSeconds);
    }
    this.active += 1;
  }

  leave(): void {
    this.active -= 1;
  }

  /**
   * Reserves memory for bytes that wait for a slow client outside of a chunked response, such as events
   * of a watch; up to 16 KiB are not counted. Returns the function that releases it; undefined if the
   * budget is exhausted.
   */
  hold(bytes: number): (() => void) | undefined {
    if (bytes <= minChunkBytes) return () => undefined;
    const shares = Math.ceil(bytes / (chunksPerSize * minChunkBytes));
    if ((this.active + shares) * chunksPerSize * minChunkBytes > this.budget) return undefined;
    this.active += shares;
    return () => {
      this.active -= shares;
    };
  }

  /** Size of the next chunk. */
  get chunkBytes(): number {
    const share = this.budget / (chunksPerSize * Math.max(1, this.active));
    return Math.max(minChunkBytes, Math.min(maxChunkBytes, Math.floor(share)));
  }

  /** A buffer of `size` bytes, from the pool if possible. */
  take(size: number): Buffer {
    if (size !== maxChunkBytes) return Buffer.allocUnsafe(size);
    return this.free.pop() ?? Buffer.allocUnsafeSlow(maxChunkBytes);
  }

  /** Returns a chunk to the pool; it must no longer be in use. */
  give(chunk: Buffer): void {
    if (chunk.length === maxChunkBytes && this.free.length < maxFreeBuffers) this.free.push(chunk);
  }
}

/** The pool of the server with these limits. */
export const responseBufferPoolOf = memoize(
  ({ responseBufferBytes, retryAfterSeconds }: Limits) =>
    new ResponseBufferPool(responseBufferBytes, retryAfterSeconds),
);
