import type { ResponseHeaders, Exchange, ResponseStream } from "./exchange.ts";
import { ClientGone } from "./exchange.ts";
import { bodyTooLarge } from "../response/failures.ts";
import { CountingResponseStream } from "./counting-response-stream.ts";

/** An in-process request. */
export interface LocalRequest {
  readonly method: string;
  /** Path and query: `/api/v1/namespaces?limit=1`. */
  readonly url: string;
  /** Names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string;
  /** Its abort has the effect of a client's disconnect. */
  readonly signal?: AbortSignal;
}

export interface LocalResponse {
  readonly status: number;
  readonly headers: ResponseHeaders;
  /** The chunks of the body; the writer waits until each is read. */
  readonly body: AsyncIterable<Uint8Array>;
}

/** An exchange without a connection. */
export class LocalExchange implements Exchange {
  readonly auditId: string;
  readonly method: string;
  readonly url: string;
  readonly authorization: readonly string[];
  readonly certificate = undefined;
  readonly response: ResponseStream;
  /** Resolves when status and headers of the response are known. */
  readonly result: Promise<LocalResponse>;
  private readonly life = new AbortController();

  constructor(
    private readonly request: LocalRequest,
    { auditId, common }: { readonly auditId: string; readonly common: Record<string, string> },
  ) {
    this.auditId = auditId;
    this.method = request.method;
    this.url = request.url;
    const authorization = request.headers?.["authorization"];
    this.authorization = authorization === undefined ? [] : [authorization];
    const leave = () => {
      this.life.abort(new ClientGone("the caller has left"));
      response.abandon();
    };
    let begin: (result: LocalResponse) => void = () => undefined;
    this.result = new Promise((resolve) => {
      begin = resolve;
    });
    const response = new LocalResponseStream({ common, begin: (result) => begin(result), leave });
    this.response = response;
    if (request.signal?.aborted) leave();
    request.signal?.addEventListener("abort", leave, { once: true });
  }

  get signal(): AbortSignal {
    return this.life.signal;
  }

  get reason(): Error | undefined {
    const { aborted, reason } = this.life.signal;
    return aborted ? (reason as Error) : undefined;
  }

  header(name: string): string | undefined {
    return this.request.headers?.[name];
  }

  headersBelow(prefix: string): ReadonlyMap<string, readonly string[]> {
    const all = Object.entries(this.request.headers ?? {});
    const below = all.filter(([name]) => name.startsWith(prefix));
    return new Map(below.map(([name, value]) => [name, [value]]));
  }

  abort(reason: Error): void {
    this.life.abort(reason);
  }

  async body(limit: number): Promise<Uint8Array> {
    const { body = "" } = this.request;
    const bytes = typeof body === "string" ? Buffer.from(body, "utf8") : body;
    if (bytes.byteLength > limit) throw bodyTooLarge(limit);
    return bytes;
  }
}

interface LocalResponseStreamOptions {
  readonly common: Record<string, string>;
  readonly begin: (result: LocalResponse) => void;
  readonly leave: () => void;
}

/** The response of an in-process request: its reader receives chunks one by one, with backpressure. */
class LocalResponseStream extends CountingResponseStream {
  private ended = false;
  private cut = false;
  private pieces: Uint8Array[] = [];
  private wakeReader: (() => void) | undefined;
  private wakeWriter: (() => void) | undefined;

  protected readonly common: Record<string, string>;

  constructor(private readonly options: LocalResponseStreamOptions) {
    super();
    this.common = options.common;
  }

  get closed(): boolean {
    return this.ended;
  }

  protected begin(status: number, headers: ResponseHeaders): void {
    const all = { ...this.common, ...headers };
    this.options.begin({ status, headers: all, body: this.read() });
  }

  flush(): void {}

  protected put(chunks: readonly Uint8Array[]): Promise<void> | undefined {
    this.pieces.push(...chunks);
    this.wakeReader?.();
    return new Promise((resolve) => {
      this.wakeWriter = resolve;
    });
  }

  protected finish(chunk?: Uint8Array): void {
    if (chunk !== undefined && chunk.byteLength > 0) this.pieces.push(chunk);
    this.ended = true;
    this.wakeReader?.();
  }

  destroy(): void {
    this.cut = true;
    this.start(500, {});
    this.end();
  }

  /** Called when the reader is gone: pending data is dropped, and further writes are discarded. */
  abandon(): void {
    this.ended = true;
    this.pieces = [];
    this.wakeReader?.();
    this.wakeWriter?.();
  }

  private async *read(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        const piece = this.pieces.shift();
        if (piece !== undefined) {
          yield piece;
          continue;
        }
        this.wakeWriter?.();
        if (this.ended) break;
        await new Promise<void>((resolve) => {
          this.wakeReader = resolve;
        });
      }
      if (this.cut) throw new Error("the response was cut off");
    } finally {
      if (!this.ended) {
        this.ended = true;
        this.options.leave();
      }
      this.wakeWriter?.();
    }
  }
}
