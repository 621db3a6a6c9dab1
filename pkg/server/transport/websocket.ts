/** Streams over WebSocket (RFC 6455): the server sends, the client only listens. */
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import { badRequest } from "#meta";
import { CountingResponseStream, drained } from "./counting-response-stream.ts";
import { ClientGone, type Exchange, type Upgrade } from "./exchange.ts";

/** Limit of a client's message in bytes; a larger one closes the connection with code 1009. */
const maxClientMessageBytes = 64 * 1024;
/** Time limit in ms for the client's close frame after the server's. */
const closeTimeoutMs = 2_000;
const normalClosureCode = 1000;

/** The connection of an exchange whose client requests a WebSocket; undefined otherwise. */
export function webSocketOf(exchange: Exchange): Upgrade | undefined {
  const wanted = exchange.header("upgrade")?.toLowerCase();
  return wanted === "websocket" ? exchange.upgrade : undefined;
}

interface WebSocketOptions {
  /** Chosen subprotocol; "" = none. */
  readonly protocol: string;
  /** Whether messages are binary; otherwise text. */
  readonly binary: boolean;
  /** Splits what is written into messages. */
  readonly split: (chunk: Uint8Array) => Iterable<Uint8Array>;
  /** Whether an empty message announces the connection. */
  readonly greets: boolean;
}

/**
 * Sends what is written as messages.
 *
 * @throws StatusError 400 for an invalid handshake
 */
export class WebSocketResponseStream extends CountingResponseStream {
  private readonly socket: Duplex;
  private webSocket: WebSocket | undefined;
  private ended = false;
  /** Ignored: the handshake determines the headers. */
  protected readonly common: Record<string, string> = {};

  constructor(
    private readonly exchange: Exchange,
    private readonly upgrade: Upgrade,
    private readonly options: WebSocketOptions,
  ) {
    super();
    const key = exchange.header("sec-websocket-key") ?? "";
    if (!/^[+/0-9A-Za-z]{22}==$/.test(key) || exchange.header("sec-websocket-version") !== "13") {
      throw badRequest("a WebSocket request needs Sec-WebSocket-Key and Sec-WebSocket-Version: 13");
    }
    this.socket = upgrade.socket;
    this.socket.once("close", () => this.leave());
  }

  protected begin(): void {
    if (this.closed) return;
    this.exchange.response.handOver(101);
    const { protocol, binary, greets } = this.options;
    const handshakes = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      maxPayload: maxClientMessageBytes,
      skipUTF8Validation: true,
      handleProtocols: () => (protocol === "" ? false : protocol),
    });
    const { request, socket, head } = this.upgrade;
    handshakes.handleUpgrade(request, socket, Buffer.from(head), (webSocket) => {
      this.webSocket = webSocket;
      webSocket.on("close", () => this.leave());
      // After a protocol error of the client, the library disconnects it and emits "close".
      webSocket.on("error", () => this.leave());
      if (greets) webSocket.send("", { binary });
    });
  }

  flush(): void {
    // The response to the handshake has been sent already.
  }

  protected put(chunks: readonly Uint8Array[]): Promise<void> | undefined {
    const { binary, split } = this.options;
    for (const chunk of chunks) {
      for (const message of split(chunk)) this.webSocket?.send(message, { binary });
    }
    return this.socket.writableNeedDrain ? drained(this.socket) : undefined;
  }

  protected finish(): void {
    this.ended = true;
    this.webSocket?.close(normalClosureCode);
    const timer = setTimeout(() => this.socket.destroy(), closeTimeoutMs);
    this.socket.once("close", () => clearTimeout(timer));
  }

  destroy(): void {
    this.ended = true;
    this.socket.destroy();
  }

  get closed(): boolean {
    return this.ended || this.socket.destroyed || this.socket.writableEnded;
  }

  private leave(): void {
    this.exchange.abort(new ClientGone("the client has closed the WebSocket"));
  }
}

/** Splits JSON events into messages. Each keeps its line feed, as in Kubernetes. */
export function* lines(chunk: Uint8Array): Iterable<Uint8Array> {
  for (let from = 0; from < chunk.byteLength;) {
    const end = chunk.indexOf(0x0a, from);
    const to = end < 0 ? chunk.byteLength : end + 1;
    yield chunk.subarray(from, to);
    from = to;
  }
}

/** Splits Protobuf events into messages, without their length prefixes of four bytes. */
export function* lengthDelimited(chunk: Uint8Array): Iterable<Uint8Array> {
  const view = new DataView(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  for (let from = 0; from + 4 <= chunk.byteLength;) {
    const to = from + 4 + view.getUint32(from);
    yield chunk.subarray(from + 4, to);
    from = to;
  }
}
