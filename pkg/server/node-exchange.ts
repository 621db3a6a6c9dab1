import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import type { Readable } from "node:stream";
import type { TLSSocket } from "node:tls";
import type { Credentials } from "#request";
import {
  type AnswerHeaders,
  ClientGone,
  type Exchange,
  type Sink,
  type Upgrade,
} from "./exchange.ts";
import { bodyTooLarge, deadlineExceeded } from "./failures.ts";

export type NodeRequest = IncomingMessage | Http2ServerRequest;
export type NodeResponse = ServerResponse | Http2ServerResponse;

interface NodeExchangeOptions {
  readonly bodyTimeout: number;
  readonly common: AnswerHeaders;
  readonly upgrade?: Upgrade | undefined;
}

/** An exchange over a connection, HTTP/2 or HTTP/1.1. */
export class NodeExchange implements Exchange {
  readonly method: string;
  readonly url: string;
  readonly authorization: readonly string[];
  readonly sink: Sink;
  private readonly life = new AbortController();
  private read = false;

  constructor(
    private readonly request: NodeRequest,
    response: NodeResponse,
    private readonly options: NodeExchangeOptions,
  ) {
    this.method = request.method ?? "GET";
    this.url = request.url ?? "/";
    this.authorization = valuesOf(request.rawHeaders, "authorization");
    this.sink = new NodeSink(response, options.common);
    response.once("close", () => this.leave(response));
    request.once("error", () => this.leave(response));
    response.on("error", () => this.leave(response));
  }

  get signal(): AbortSignal {
    return this.life.signal;
  }

  get certificate(): Credentials["certificate"] {
    return certificateOf(this.request.socket as TLSSocket);
  }

  header(name: string): string | undefined {
    const value = this.request.headers[name];
    return Array.isArray(value) ? value.join(", ") : value;
  }

  headersBelow(prefix: string): ReadonlyMap<string, readonly string[]> {
    const { rawHeaders } = this.request;
    const found = new Map<string, readonly string[]>();
    for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
      const name = rawHeaders[i]!.toLowerCase();
      if (name.startsWith(prefix)) found.set(name, [...(found.get(name) ?? []), rawHeaders[i + 1]!]);
    }
    return found;
  }

  abort(reason: Error): void {
    this.life.abort(reason);
  }

  get rawHeaders(): readonly string[] {
    return this.request.rawHeaders;
  }

  get upgrade(): Upgrade | undefined {
    return this.options.upgrade;
  }

  stream(): Readable {
    this.read = true;
    return this.request;
  }

  body(limit: number): Promise<Uint8Array> {
    this.read = true;
    if (Number(this.header("content-length") ?? 0) > limit) {
      this.request.resume();
      return Promise.reject(bodyTooLarge(limit));
    }
    const milliseconds = this.options.bodyTimeout;
    return gather(this.request, { limit, milliseconds, signal: this.signal });
  }

  /** Lets go of a body that nobody asked for, else its sender would wait for room for ever. */
  finish(): void {
    if (!this.read) this.request.resume();
  }

  private leave(response: NodeResponse): void {
    if (!response.writableEnded && !this.life.signal.aborted) {
      this.life.abort(new ClientGone("the client has left"));
    }
  }
}

function valuesOf(rawHeaders: readonly string[], name: string): readonly string[] {
  const values: string[] = [];
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    if (rawHeaders[i]!.toLowerCase() === name) values.push(rawHeaders[i + 1]!);
  }
  return values;
}

/** The client's certificate, if the TLS layer has verified its chain. */
function certificateOf(socket: TLSSocket): Credentials["certificate"] {
  if (socket.authorized !== true) return undefined;
  const certificate = socket.getPeerCertificate?.();
  if (certificate?.subject === undefined) return undefined;
  const { CN, O } = certificate.subject as unknown as Record<string, string | string[] | undefined>;
  const organizations = O === undefined ? [] : Array.isArray(O) ? O : [O];
  const commonName = (Array.isArray(CN) ? CN[0] : CN) ?? "";
  return { commonName, organizations, raw: certificate.raw };
}

interface GatherOptions {
  readonly limit: number;
  readonly milliseconds: number;
  readonly signal: AbortSignal;
}

/** Reads a body whole. What comes after a failure is dropped as it arrives. */
function gather(request: NodeRequest, options: GatherOptions): Promise<Uint8Array> {
  const { limit, milliseconds, signal } = options;
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = [];
    let size = 0;
    const settle = () => {
      clearTimeout(timer);
      request.off("data", onData);
      request.off("end", onEnd);
      signal.removeEventListener("abort", onAbort);
    };
    const fail = (error: unknown) => {
      settle();
      request.resume();
      reject(error);
    };
    const onData = (chunk: Uint8Array) => {
      size += chunk.byteLength;
      if (size > limit) return fail(bodyTooLarge(limit));
      chunks.push(chunk);
    };
    const onEnd = () => {
      settle();
      resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, size));
    };
    const onAbort = () => fail(signal.reason);
    const timer = setTimeout(() => fail(deadlineExceeded()), milliseconds);
    if (signal.aborted) return onAbort();
    request.on("data", onData);
    request.on("end", onEnd);
    signal.addEventListener("abort", onAbort, { once: true });
  });
}

class NodeSink implements Sink {
  private hasStarted = false;
  private ended = false;

  constructor(
    private readonly response: NodeResponse,
    private readonly common: AnswerHeaders,
  ) {}

  get started(): boolean {
    return this.hasStarted;
  }

  start(status: number, headers: AnswerHeaders): void {
    if (this.hasStarted || this.closed) return;
    this.hasStarted = true;
    const { response } = this;
    response.statusCode = status;
    for (const [name, value] of Object.entries({ ...this.common, ...headers })) {
      response.setHeader(name, value as string | string[]);
    }
  }

  flush(): void {
    if (!this.closed) (this.response as ServerResponse).flushHeaders();
  }

  write(chunk: Uint8Array): Promise<void> | undefined {
    if (this.closed) return undefined;
    const response = this.response as ServerResponse;
    if (response.write(chunk)) return undefined;
    return new Promise((resolve) => {
      const done = () => {
        response.off("drain", done);
        response.off("close", done);
        resolve();
      };
      response.on("drain", done);
      response.on("close", done);
    });
  }

  end(chunk?: Uint8Array): void {
    if (this.closed) return;
    this.ended = true;
    const response = this.response as ServerResponse;
    if (chunk === undefined || chunk.byteLength === 0) response.end();
    else response.end(chunk);
  }

  destroy(): void {
    if (this.closed) return;
    this.ended = true;
    const { response } = this;
    if ("stream" in response) response.stream.close(INTERNAL_ERROR);
    else response.destroy();
  }

  private get closed(): boolean {
    return this.ended || this.response.destroyed || this.response.writableEnded;
  }
}

const INTERNAL_ERROR = 2;
