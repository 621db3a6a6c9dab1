import type { IncomingMessage, ServerResponse } from "node:http";
import type { Exchange, ResponseStream } from "./exchange.ts";

/** Request and response as parameters of Koa's callback. */
export interface KoaMessages {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/**
 * The pair for an exchange that has no objects of Node's HTTP/1.1 server: HTTP/2 and requests inside
 * the process. Node's own objects for HTTP/2 cost more CPU than all stages together, so these have
 * only the members that Koa and @koa/router read; bodies go through the exchange.
 */
export function koaMessages(exchange: Exchange, headers: KoaRequest["headers"]): KoaMessages {
  return {
    request: new KoaRequest(exchange, headers) as unknown as IncomingMessage,
    response: new KoaResponse(exchange.response) as unknown as ServerResponse,
  };
}

const exchanges = new WeakMap<IncomingMessage, Exchange>();

/** Registers the exchange of a Node request, for `exchangeOf`. */
export function bindExchange(request: IncomingMessage, exchange: Exchange): void {
  exchanges.set(request, exchange);
}

/** The exchange of a request that Koa handles. */
export function exchangeOf(request: IncomingMessage | KoaRequest): Exchange {
  return request instanceof KoaRequest ? request.exchange : exchanges.get(request)!;
}

class KoaRequest {
  readonly httpVersionMajor = 2;

  constructor(
    readonly exchange: Exchange,
    readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>,
  ) {}

  get method(): string {
    return this.exchange.method;
  }

  get url(): string {
    return this.exchange.url;
  }
}

class KoaResponse {
  /** Koa sets it before the first middleware; the code that is sent is that of the stream. */
  statusCode = 404;
  readonly socket = null;

  constructor(private readonly stream: ResponseStream) {}

  get headersSent(): boolean {
    return this.stream.started;
  }

  get writableEnded(): boolean {
    return this.stream.closed;
  }

  /** Koa listens for failures of the connection, which the exchange reports by its signal. */
  on(): this {
    return this;
  }

  removeListener(): this {
    return this;
  }

  /** Koa ends what no middleware has ended. */
  end(): void {
    if (!this.stream.closed) this.stream.destroy();
  }
}
