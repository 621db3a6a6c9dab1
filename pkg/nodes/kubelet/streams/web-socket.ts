/** Server side of a WebSocket (RFC 6455). */
import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { Duplex } from "node:stream";

const handshakeKey = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/** Maximum message size in bytes. */
const maxMessageBytes = 1 << 20;

const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

/** An upgrade request, its socket, and the bytes received after it. */
export interface Upgrade {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Uint8Array;
}

export interface WebSocketHandlers {
  message(data: Buffer): void;
  end(): void;
}

/** Whether a request is a WebSocket handshake. */
export function isWebSocketRequest({ headers }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === "websocket";
}

/** Subprotocols offered by the client, in its order. */
export function offeredProtocols({ headers }: IncomingMessage): readonly string[] {
  return (headers["sec-websocket-protocol"] ?? "")
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
}

/** An open WebSocket; stops reading while the client does not read (backpressure). */
export class WebSocketConnection {
  private pending: Buffer;
  private message: Buffer[] = [];
  private messageBytes = 0;
  private isClosed = false;
  private isPaused = false;
  private handlers: WebSocketHandlers | undefined;

  private constructor(
    private readonly socket: Duplex,
    head: Uint8Array,
  ) {
    this.pending = Buffer.from(head);
  }

  /**
   * Accepts the handshake with a subprotocol, "" = none. Undefined = the client sent no key, and got a
   * 400.
   */
  static accept(
    { request, socket, head }: Upgrade,
    protocol: string,
  ): WebSocketConnection | undefined {
    const key = request.headers["sec-websocket-key"];
    if (key === undefined) {
      rejectUpgrade(socket, 400, "Sec-WebSocket-Key is required\n");
      return undefined;
    }
    const accepted = createHash("sha1").update(`${key}${handshakeKey}`).digest("base64");
    socket.write(
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
        `Sec-WebSocket-Accept: ${accepted}\r\n` +
        `${protocol === "" ? "" : `Sec-WebSocket-Protocol: ${protocol}\r\n`}\r\n`,
    );
    return new WebSocketConnection(socket, head);
  }

  /** Starts to deliver messages. */
  listen(handlers: WebSocketHandlers): void {
    this.handlers = handlers;
    const { socket } = this;
    socket.on("data", (data: Buffer) => this.take(data));
    socket.on("drain", () => this.flow());
    socket.on("error", () => this.end());
    socket.on("end", () => this.close());
    socket.on("close", () => this.end());
    this.take(Buffer.alloc(0));
  }

  /** Sends a binary message; calls `sent` when the socket has accepted it. */
  send(data: Uint8Array, sent?: (error?: Error | null) => void): void {
    if (this.isClosed) return sent?.();
    this.frame(opcodes.binary, data, sent);
  }

  /** Sends a text message; calls `sent` when the socket has accepted it. */
  sendText(text: string, sent?: (error?: Error | null) => void): void {
    if (this.isClosed) return sent?.();
    this.frame(opcodes.text, Buffer.from(text), sent);
  }

  /** Pauses or resumes delivery; a partly received message may still follow. */
  pause(isPaused: boolean): void {
    this.isPaused = isPaused;
    this.flow();
  }

  close(): void {
    if (this.isClosed) return;
    this.frame(opcodes.close, Buffer.of(1000 >> 8, 1000 & 0xff));
    this.socket.end();
    this.end();
  }

  private end(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.message = [];
    this.socket.resume();
    this.handlers?.end();
  }

  private fail(): void {
    this.socket.destroy();
    this.end();
  }

  private flow(): void {
    // Without a listener, a flowing socket would lose data.
    if (this.isClosed || this.handlers === undefined) return;
    if (this.isPaused || this.socket.writableNeedDrain) this.socket.pause();
    else this.socket.resume();
  }

  private frame(opcode: number, payload: Uint8Array, sent?: (error?: Error | null) => void): void {
    const { length } = payload;
    const head =
      length < 126 ? Buffer.of(0x80 | opcode, length) : Buffer.alloc(length < 65_536 ? 4 : 10);
    if (length >= 126) {
      head[0] = 0x80 | opcode;
      head[1] = length < 65_536 ? 126 : 127;
      if (length < 65_536) head.writeUInt16BE(length, 2);
      else head.writeBigUInt64BE(BigInt(length), 2);
    }
    this.socket.write(Buffer.concat([head, payload]), sent);
    this.flow();
  }

  private take(data: Buffer): void {
    if (this.isClosed) return;
    this.pending = Buffer.concat([this.pending, data]);
    for (let used = this.parse(); used > 0 && !this.isClosed; used = this.parse()) {
      this.pending = this.pending.subarray(used);
    }
  }

  /** Handles the first frame. Returns its length; 0 = incomplete. */
  private parse(): number {
    const { pending } = this;
    if (pending.length < 2) return 0;
    const [first = 0, second = 0] = pending;
    const short = second & 0x7f;
    const at = 2 + (short === 126 ? 2 : short === 127 ? 8 : 0);
    if (pending.length < at + 4) return 0;
    let length = short;
    if (short === 126) length = pending.readUInt16BE(2);
    if (short === 127) length = Number(pending.readBigUInt64BE(2));
    const isMasked = (second & 0x80) !== 0;
    if (!isMasked || length > maxMessageBytes) {
      this.fail();
      return 0;
    }
    const end = at + 4 + length;
    if (pending.length < end) return 0;
    const mask = pending.subarray(at, at + 4);
    const payload = Buffer.from(pending.subarray(at + 4, end));
    for (let index = 0; index < length; index++) payload[index]! ^= mask[index & 3]!;
    this.handle(first & 0x0f, payload, (first & 0x80) !== 0);
    return end;
  }

  private handle(opcode: number, payload: Buffer, isLast: boolean): void {
    if (opcode === opcodes.close) return this.close();
    if (opcode === opcodes.ping) return this.frame(opcodes.pong, payload);
    if (opcode === opcodes.pong) return;
    // Counts empty fragments, too, since a client could send them endlessly.
    this.messageBytes += payload.length + 1;
    if (this.messageBytes > maxMessageBytes) return this.fail();
    this.message.push(payload);
    if (!isLast) return;
    const whole = Buffer.concat(this.message);
    this.message = [];
    this.messageBytes = 0;
    this.handlers?.message(whole);
  }
}

/** The payloads of all messages as one byte stream, to tunnel another protocol. */
export function tunnelOf(connection: WebSocketConnection): Duplex {
  const tunnel = new Duplex({
    read: () => connection.pause(false),
    write: (data: Buffer, _encoding, done) => connection.send(data, done),
    final: (done) => {
      connection.close();
      done();
    },
    destroy: (error, done) => {
      connection.close();
      done(error);
    },
  });
  connection.listen({
    message: (data) => {
      if (!tunnel.push(data)) connection.pause(true);
    },
    end: () => void tunnel.push(null),
  });
  return tunnel;
}

/** Rejects an upgrade with an HTTP response. */
export function rejectUpgrade(socket: Duplex, code: number, text: string): void {
  const length = Buffer.byteLength(text);
  socket.end(
    `HTTP/1.1 ${code} Refused\r\nContent-Type: text/plain; charset=utf-8\r\n` +
      `Content-Length: ${length}\r\nConnection: close\r\n\r\n${text}`,
  );
}
