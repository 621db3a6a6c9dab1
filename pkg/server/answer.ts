import { constants, createGzip, type Gzip } from "node:zlib";
import type { AnswerHeaders, Exchange, Sink } from "./exchange.ts";

/** Pieces are gathered up to this size before they go to the socket. */
const BATCH_BYTES = 256 * 1024;

export interface AnswerOptions {
  readonly status: number;
  readonly headers: AnswerHeaders;
  /** Answers of more bytes than this are compressed; undefined = never. */
  readonly gzipAbove: number | undefined;
}

/**
 * Writes a body piece by piece: small pieces are gathered, the size of small answers is
 * announced, large ones are compressed if the client takes that, and whoever writes waits for a
 * slow client. Until the first batch leaves nothing is sent, so that an early failure still can
 * become an error answer.
 */
export class AnswerWriter {
  private pieces: (string | Uint8Array)[] = [];
  private size = 0;
  private gzip: Gzip | undefined;
  private gzipEnded: Promise<void> | undefined;

  constructor(
    private readonly sink: Sink,
    private readonly options: AnswerOptions,
  ) {}

  /** Takes a piece. A promise means: wait for it before the next one. */
  write(piece: string | Uint8Array): Promise<void> | undefined {
    this.pieces.push(piece);
    this.size += typeof piece === "string" ? Buffer.byteLength(piece) : piece.byteLength;
    return this.size > this.room ? this.flush() : undefined;
  }

  async end(): Promise<void> {
    if (!this.sink.started) {
      const { status, headers } = this.options;
      this.sink.start(status, { ...headers, "content-length": `${this.size}` });
      this.sink.end(this.take());
      return;
    }
    await this.flush();
    if (this.gzip === undefined) return this.sink.end();
    this.gzip.end();
    await this.gzipEnded;
  }

  /** Frees the compressor of an answer that is given up. */
  abandon(): void {
    this.gzip?.destroy();
  }

  private get room(): number {
    const { gzipAbove } = this.options;
    return gzipAbove === undefined || this.gzip !== undefined ? BATCH_BYTES : gzipAbove;
  }

  private flush(): Promise<void> | undefined {
    if (!this.sink.started) this.begin();
    const batch = this.take();
    if (batch.byteLength === 0) return undefined;
    if (this.gzip === undefined) return this.sink.write(batch);
    const { gzip } = this;
    return gzip.write(batch) ? undefined : new Promise((resolve) => onceEither(gzip, resolve));
  }

  private take(): Uint8Array {
    const { pieces, size } = this;
    this.pieces = [];
    this.size = 0;
    return joined(pieces, size);
  }

  private begin(): void {
    const { status, headers, gzipAbove } = this.options;
    if (gzipAbove === undefined) return this.sink.start(status, headers);
    this.sink.start(status, { ...headers, "content-encoding": "gzip", vary: "Accept-Encoding" });
    const gzip = createGzip({ level: constants.Z_BEST_SPEED });
    this.gzip = gzip;
    gzip.on("data", (chunk: Uint8Array) => {
      const wait = this.sink.write(chunk);
      if (wait === undefined) return;
      gzip.pause();
      void wait.then(() => gzip.resume());
    });
    this.gzipEnded = new Promise((resolve) => {
      gzip.once("close", resolve);
      gzip.once("end", () => this.sink.end());
    });
  }
}

/** One array of all pieces, which have `size` bytes together; each is copied once. */
export function joined(pieces: readonly (string | Uint8Array)[], size: number): Uint8Array {
  const [only] = pieces;
  if (pieces.length === 1 && typeof only === "object") return only;
  const bytes = Buffer.allocUnsafe(size);
  let at = 0;
  for (const piece of pieces) {
    if (typeof piece === "string") at += bytes.write(piece, at);
    else {
      bytes.set(piece, at);
      at += piece.byteLength;
    }
  }
  return bytes;
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

/** Whether the client takes gzip, and from which size on it pays. */
export function gzipAbove(exchange: Exchange, threshold: number): number | undefined {
  const accepted = exchange.header("accept-encoding") ?? "";
  return accepted.split(",").some((coding) => coding.trim() === "gzip") ? threshold : undefined;
}

/** Sends a whole answer at once. */
export function answer(
  exchange: Exchange,
  options: { readonly status: number; readonly headers: AnswerHeaders },
  body: string | Uint8Array,
): void {
  const bytes = typeof body === "string" ? Buffer.from(body, "utf8") : body;
  const { sink } = exchange;
  sink.start(options.status, { ...options.headers, "content-length": `${bytes.byteLength}` });
  sink.end(exchange.method === "HEAD" ? undefined : bytes);
}

export function answerText(exchange: Exchange, status: number, text: string): void {
  const headers = {
    "content-type": "text/plain; charset=utf-8",
    "x-content-type-options": "nosniff",
  };
  answer(exchange, { status, headers }, text);
}

/** A Warning header (RFC 7234) with code 299; its bytes are UTF-8. */
export function warningHeader(text: string): string {
  const quoted = text.replace(/\p{Cc}/gu, "").replace(/["\\]/g, "\\$&");
  return `299 - "${Buffer.from(quoted, "utf8").toString("latin1")}"`;
}
