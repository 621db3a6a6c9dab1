import { constants, createGzip, type Gzip } from "node:zlib";
import type { Awaitable } from "#base";
import type { ResponseBufferPool } from "./response-buffer-pool.ts";
import {
  ClientGone,
  type ResponseHeaders,
  type Exchange,
  type ResponseStream,
} from "../transport/exchange.ts";

/** Size of the first chunk, as most responses are small; a larger response gets full-size chunks. */
const firstWriteBytes = 16 * 1024;
/** Size from which a piece is sent without a copy; smaller ones are copied into a chunk. */
const largePieceBytes = 16 * 1024;
const nothing = Buffer.alloc(0);

export interface ResponseOptions {
  readonly status: number;
  readonly headers: ResponseHeaders;
  /** Responses of more bytes than this are compressed; undefined = never. */
  readonly gzipAbove: number | undefined;
  /** Pool of the chunks of large responses. */
  readonly memory: ResponseBufferPool;
}

/**
 * Writes a body in pieces: small pieces are buffered, small responses have a Content-Length, large ones
 * are compressed if the client accepts gzip. A slow client makes `write` return a promise. Headers are
 * sent with the first chunk, so that an earlier failure can still be an error response.
 */
export class ResponseWriter {
  /** Offset in the reserved room at which the caller writes next. */
  at = 0;
  /** The current chunk; the bytes before `at` are to be sent. */
  private chunk: Buffer = nothing;
  /** The pieces before the first chunk; small responses never need a chunk. */
  private pieces: (string | Uint8Array)[] = [];
  private size = 0;
  private gzip: Gzip | undefined;
  private gzipEnded: Promise<void> | undefined;
  /** The response is counted in the buffer pool. */
  private isPooled = false;

  constructor(
    private readonly response: ResponseStream,
    private readonly options: ResponseOptions,
  ) {}

  /** The reserved room: write at offset `at` and advance that. */
  get room(): Buffer {
    return this.chunk;
  }

  /** Writes a piece. If it returns a promise, wait for it before the next piece. */
  write(piece: string | Uint8Array): Promise<void> | undefined {
    const size = sizeOf(piece);
    // A first piece of any size is not copied: it may be the whole document.
    if (this.chunk === nothing && (this.size === 0 || this.size + size <= this.chunkBytes)) {
      this.pieces.push(piece);
      this.size += size;
      return undefined;
    }
    if (typeof piece === "object" && size >= largePieceBytes) {
      const wait = this.flush();
      this.pieces.push(piece);
      this.size = size;
      return wait;
    }
    const wait = this.reserve(size);
    this.at += copyInto(this.chunk, this.at, piece);
    return wait;
  }

  /** Reserves room for a piece of at most `size` bytes, which the caller encodes in place. */
  reserve(size: number): Promise<void> | undefined {
    const { chunk, at, chunkBytes } = this;
    if (at + size <= chunk.length) return undefined;
    const isWorthSending = at > 0 || this.size > firstWriteBytes;
    if (isWorthSending && this.size + at + size > chunkBytes) {
      const wait = this.flush();
      this.chunk = this.options.memory.take(Math.max(this.chunkBytes, size));
      return wait;
    }
    const needed = this.size + at + size;
    const wanted = needed <= firstWriteBytes ? firstWriteBytes : chunkBytes;
    this.chunk = this.options.memory.take(Math.max(wanted, needed));
    chunk.copy(this.chunk, 0, 0, at);
    for (const piece of this.pieces) this.at += copyInto(this.chunk, this.at, piece);
    this.pieces = [];
    this.size = 0;
    return undefined;
  }

  /** Sends the rest of the body and ends the response. */
  async end(): Promise<void> {
    const { status, headers, gzipAbove = Infinity } = this.options;
    if (!this.response.started && this.size + this.at <= gzipAbove) {
      this.response.start(status, { "content-length": `${this.size + this.at}`, ...headers });
    }
    const isSmall = this.chunk === nothing && this.size <= firstWriteBytes;
    if (isSmall && this.response.started && this.gzip === undefined) {
      return this.response.end(joined(this.pieces, this.size));
    }
    const wait = this.flush();
    // Ended before the wait, so that the last chunk is sent together with the end.
    if (this.gzip === undefined) this.response.end();
    // The response is counted in the pool until its client has read it.
    if (this.isPooled) await wait;
    this.gzip?.end();
    await this.gzipEnded;
  }

  /**
   * Called by encoders between slices, to stop also before the first write.
   * @throws ClientGone if the client has disconnected
   */
  checkOpen(): void {
    if (this.response.closed) throw new ClientGone("the client disconnected");
  }

  /** Releases the compressor and the share of the pool; to be called at the end in every case. */
  abandon(): void {
    this.gzip?.destroy();
    if (this.isPooled) this.options.memory.leave();
    this.isPooled = false;
  }

  private get chunkBytes(): number {
    const { gzipAbove, memory } = this.options;
    if (gzipAbove !== undefined && this.gzip === undefined) return gzipAbove;
    return memory.chunkBytes;
  }

  private flush(): Promise<void> | undefined {
    this.checkOpen();
    if (!this.response.started) this.begin();
    const { chunk, at, pieces } = this;
    this.chunk = nothing;
    this.at = 0;
    this.pieces = [];
    this.size = 0;
    if (pieces.length > 0) return this.send(pieces.map(bytesOf));
    if (at === 0) return undefined;
    return this.send([chunk.subarray(0, at)], () => this.options.memory.give(chunk));
  }

  private send(batch: readonly Uint8Array[], free?: () => void): Promise<void> | undefined {
    const { gzip } = this;
    if (gzip === undefined) return this.response.write(batch, free);
    let hasRoom = true;
    for (const bytes of batch) hasRoom = gzip.write(bytes);
    return hasRoom ? undefined : new Promise((resolve) => onceEither(gzip, resolve));
  }

  private begin(): void {
    const { status, headers, gzipAbove, memory } = this.options;
    memory.enter();
    this.isPooled = true;
    if (gzipAbove === undefined) return this.response.start(status, headers);
    this.response.start(status, {
      ...headers,
      "content-encoding": "gzip",
      vary: "Accept-Encoding",
    });
    const gzip = createGzip({ level: constants.Z_BEST_SPEED });
    this.gzip = gzip;
    gzip.on("data", (chunk: Uint8Array) => {
      const wait = this.response.write([chunk]);
      if (wait === undefined) return;
      gzip.pause();
      void wait.then(() => gzip.resume());
    });
    this.gzipEnded = new Promise((resolve) => {
      gzip.once("close", resolve);
      gzip.once("end", () => this.response.end());
    });
  }
}

/** Sends a response whose pieces are in memory; a small one synchronously. */
export function sendPieces(
  response: ResponseStream,
  options: ResponseOptions,
  pieces: readonly (string | Uint8Array)[],
): Awaitable<void> {
  const { status, headers, gzipAbove = Infinity } = options;
  const size = pieces.reduce((sum, piece) => sum + sizeOf(piece), 0);
  if (size > Math.min(firstWriteBytes, gzipAbove)) return writePieces(response, options, pieces);
  response.start(status, { "content-length": `${size}`, ...headers });
  return response.end(joined(pieces, size));
}

async function writePieces(
  response: ResponseStream,
  options: ResponseOptions,
  pieces: readonly (string | Uint8Array)[],
): Promise<void> {
  const writer = new ResponseWriter(response, options);
  try {
    for (const piece of pieces) await writer.write(piece);
    await writer.end();
  } finally {
    writer.abandon();
  }
}

/** Concatenates pieces of `size` bytes in total; a single Uint8Array is returned without a copy. */
export function joined(pieces: readonly (string | Uint8Array)[], size: number): Uint8Array {
  const [only] = pieces;
  if (pieces.length === 1 && typeof only === "object") return only;
  const bytes = Buffer.allocUnsafe(size);
  let at = 0;
  for (const piece of pieces) at += copyInto(bytes, at, piece);
  return bytes;
}

function sizeOf(piece: string | Uint8Array): number {
  return typeof piece === "string" ? Buffer.byteLength(piece) : piece.byteLength;
}

function bytesOf(piece: string | Uint8Array): Uint8Array {
  return typeof piece === "string" ? Buffer.from(piece) : piece;
}

/** Copies a piece to the offset; returns its length in bytes. */
function copyInto(bytes: Buffer, at: number, piece: string | Uint8Array): number {
  if (typeof piece === "string") return bytes.write(piece, at);
  bytes.set(piece, at);
  return piece.byteLength;
}

function onceEither(gzip: Gzip, resolve: () => void): void {
  const done = () => {
    gzip.off("drain", done);
    gzip.off("close", done);
    resolve();
  };
  gzip.on("drain", done);
  gzip.on("close", done);
}

/** `threshold` in bytes if the client accepts gzip; undefined otherwise. */
export function gzipAbove(exchange: Exchange, threshold: number): number | undefined {
  const accepted = exchange.header("accept-encoding")?.split(",");
  return accepted?.some((coding) => coding.trim() === "gzip") ? threshold : undefined;
}

/** Sends a complete response. */
export function sendResponse(
  exchange: Exchange,
  options: { readonly status: number; readonly headers: ResponseHeaders },
  body: string | Uint8Array,
): void {
  const bytes = typeof body === "string" ? Buffer.from(body, "utf8") : body;
  const { response } = exchange;
  response.start(options.status, { "content-length": `${bytes.byteLength}`, ...options.headers });
  response.end(exchange.method === "HEAD" ? undefined : bytes);
}

export function sendText(exchange: Exchange, status: number, text: string): void {
  const headers = {
    "content-type": "text/plain; charset=utf-8",
    "x-content-type-options": "nosniff",
  };
  sendResponse(exchange, { status, headers }, text);
}

/** Texts that need no quoting in a header: printable ASCII without quotes and backslashes. */
const plainWarning = /^[ !#-[\]-~]*$/;

/** A Warning header (RFC 7234) with code 299; its bytes are UTF-8. */
function warningHeader(text: string): string {
  if (plainWarning.test(text)) return `299 - "${text}"`;
  const quoted = text.replace(/["\\]/g, "\\$&");
  return `299 - "${Buffer.from(quoted, "utf8").toString("latin1")}"`;
}

/** Limit of characters of all warnings; apiserver's truncateAtTotalRunes. */
const maxTotalChars = 4096;
/** Limit of characters of each warning if all together exceed the total. */
const maxWarningChars = 256;

/** The texts without duplicates, up to those that exceed the limit in total even if each is truncated. */
function distinctWarnings(texts: readonly string[]): readonly string[] {
  const distinct = new Set<string>();
  let truncated = 0;
  for (const text of texts) {
    if (truncated > maxTotalChars) break;
    if (text === "" || distinct.has(text) || /\p{Cc}/u.test(text)) continue;
    distinct.add(text);
    truncated += Math.min(text.length, maxWarningChars);
  }
  return [...distinct];
}

/**
 * Warning headers of a response, without duplicates and texts with control characters. If they exceed
 * the limit in total, each text is truncated, and the last ones are dropped.
 */
export function warningHeaders(texts: readonly string[]): readonly string[] {
  const all = distinctWarnings(texts);
  const total = all.reduce((sum, text) => sum + text.length, 0);
  if (total <= maxTotalChars) return all.map(warningHeader);
  let left = maxTotalChars;
  const headers: string[] = [];
  for (const text of all) {
    if (left <= 0) break;
    const short = text.slice(0, maxWarningChars);
    left -= short.length;
    headers.push(warningHeader(short));
  }
  return headers;
}
