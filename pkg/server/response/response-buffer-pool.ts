import { memoize } from "#base";
import { seatsTaken } from "./failures.ts";
import type { Limits } from "../limits.ts";

/** What a large response has in memory at a time: a chunk being filled, one being sent, copies. */
const CHUNKS = 4;
const SMALLEST = 16 * 1024;
const LARGEST = 128 * 1024;
/** Chunks that are kept for the next responses. */
const KEPT = 64;

/**
 * A fixed amount of memory for all chunked responses. Each response has a few chunks at a time and
 * waits for its client before it fills the next one. The more responses there are, the smaller
 * their chunks; when not even the smallest fit, requests are rejected with 429.
 *
 *     256 MiB, chunks 128 KiB at most: 512 responses have whole chunks, 1024 halves, 4096 the least
 */
export class ResponseBufferPool {
  private active = 0;
  private readonly free: Buffer[] = [];

  constructor(
    /** In bytes. */
    private readonly budget: number,
    private readonly retryAfterSeconds: number,
  ) {}

  /** Registers a chunked response. Throws StatusError 429 when there is no room for another one. */
  enter(): void {
    if ((this.active + 1) * CHUNKS * SMALLEST > this.budget) {
      throw seatsTaken(this.retryAfterSeconds);
    }
    this.active += 1;
  }

  leave(): void {
    this.active -= 1;
  }

  /**
   * Takes room for bytes that wait for their client outside of a response in chunks; what fits into
   * a small chunk is not counted. Returns a function that frees it, undefined when there is none.
   */
  hold(bytes: number): (() => void) | undefined {
    if (bytes <= SMALLEST) return () => undefined;
    const shares = Math.ceil(bytes / (CHUNKS * SMALLEST));
    if ((this.active + shares) * CHUNKS * SMALLEST > this.budget) return undefined;
    this.active += shares;
    return () => {
      this.active -= shares;
    };
  }

  /** Size of the next chunk. */
  get chunkBytes(): number {
    const share = this.budget / (CHUNKS * Math.max(1, this.active));
    return Math.max(SMALLEST, Math.min(LARGEST, Math.floor(share)));
  }

  /** Room for exactly `size` bytes, of a chunk that was used before if there is one. */
  take(size: number): Buffer {
    if (size !== LARGEST) return Buffer.allocUnsafe(size);
    return this.free.pop() ?? Buffer.allocUnsafeSlow(LARGEST);
  }

  /** Returns a chunk to the pool; it must no longer be in use. */
  give(chunk: Buffer): void {
    if (chunk.length === LARGEST && this.free.length < KEPT) this.free.push(chunk);
  }
}

/** The memory of the server that has these limits. */
export const responseBufferPoolOf = memoize(
  ({ responseBufferBytes, retryAfterSeconds }: Limits) =>
    new ResponseBufferPool(responseBufferBytes, retryAfterSeconds),
);
