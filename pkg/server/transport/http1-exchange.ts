import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { PeerCertificate } from "#request";
import type { ResponseHeaders, ResponseStream, Upgrade } from "./exchange.ts";
import { HttpExchange } from "./http-exchange.ts";
import { certificateOf } from "./incoming-request.ts";
import { CountingResponseStream, drained } from "./counting-response-stream.ts";

interface Http1ExchangeOptions {
  readonly auditId: string;
  /** Time limit for the request body, in milliseconds. */
  readonly bodyTimeout: number;
  readonly common: Record<string, string>;
  readonly upgrade?: Upgrade | undefined;
}

/** An exchange over an HTTP/1.1 connection. */
export class Http1Exchange extends HttpExchange {
  readonly response: ResponseStream;
  readonly upgrade: Upgrade | undefined;
  /** Resolves when the response or the connection is closed. */
  readonly closed: Promise<void>;
  /** Undefined: the HTTP/1.1 parser of Node ends the body at its length. */
  protected readonly exactBytes = undefined;

  constructor(
    protected readonly incoming: IncomingMessage,
    response: ServerResponse,
    { auditId, bodyTimeout, common, upgrade }: Http1ExchangeOptions,
  ) {
    const { method = "GET", url = "/" } = incoming;
    super(incoming, { auditId, method, url, bodyTimeout });
    this.upgrade = upgrade;
    this.response = new Http1ResponseStream(response, incoming.socket, common);
    const leave = (): void => {
      if (!response.writableEnded) this.leave();
    };
    this.closed = closeOf(response, incoming.socket).then(leave);
    incoming.once("error", leave);
    response.on("error", leave);
  }

  get certificate(): PeerCertificate | undefined {
    return certificateOf(this.incoming.socket as TLSSocket);
  }

  get remoteAddress(): string | undefined {
    return this.incoming.socket.remoteAddress;
  }

  /** Discards an unread request body, since its sender would otherwise block forever. */
  finish(): void {
    if (!this.isBodyRead) this.incoming.resume();
  }
}

/**
 * Resolves when a response or its connection is closed. Node closes the response of a closed connection,
 * but none that waits for an earlier one of a pipeline.
 */
export function closeOf(response: ServerResponse, socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    const close = () => {
      response.off("close", close);
      socket.off("close", close);
      resolve();
    };
    response.on("close", close);
    socket.on("close", close);
  });
}

class Http1ResponseStream extends CountingResponseStream {
  private ended = false;

  constructor(
    private readonly response: ServerResponse,
    private readonly socket: Socket,
    protected readonly common: Record<string, string>,
  ) {
    super();
  }

  protected begin(status: number, headers: ResponseHeaders): void {
    if (this.closed) return;
    const { response } = this;
    response.statusCode = status;
    for (const [name, value] of Object.entries({ ...this.common, ...headers })) {
      response.setHeader(name, value as string | string[]);
    }
  }

  flush(): void {
    if (!this.closed) this.response.flushHeaders();
  }

  protected put(chunks: readonly Uint8Array[]): Promise<void> | undefined {
    const { response } = this;
    let hasRoom = true;
    for (const chunk of chunks) hasRoom = response.write(chunk);
    if (hasRoom) return undefined;
    // Once Node has read a request to upgrade, it passes no drain on to the responses before it; and it
    // does not close those of a closed connection that wait for an earlier one.
    return drained(response, { socket: this.socket, isSending: () => response.socket !== null });
  }

  protected finish(chunk?: Uint8Array): void {
    this.ended = true;
    const { response } = this;
    if (chunk === undefined || chunk.byteLength === 0) response.end();
    else response.end(chunk);
  }

  destroy(): void {
    if (this.closed) return;
    this.ended = true;
    this.response.destroy();
  }

  get closed(): boolean {
    const { response, socket } = this;
    return this.ended || response.destroyed || response.writableEnded || socket.destroyed;
  }
}
