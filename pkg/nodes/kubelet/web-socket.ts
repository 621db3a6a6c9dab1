/** The server's side of a WebSocket (RFC 6455) with binary messages of Kubernetes' channels. */
import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";

/** First words of the protocols, newest first; the API's domain follows. */
const protocols = ["v5.channel.", "v4.channel."];
const handshakeKey = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/** Longest message that is accepted, in bytes. */
const longestMessage = 1 << 20;

const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

/** A connection whose messages begin with the number of a channel. */
export class ChannelSocket {
  private pending: Buffer;
  private message: Buffer[] = [];
  private isClosed = false;

  private constructor(
    private readonly socket: Duplex,
    head: Uint8Array,
    private readonly receive: (channel: number, data: Buffer) => void,
    private readonly onEnd: () => void,
  ) {
    this.pending = Buffer.from(head);
    socket.on("data", (data: Buffer) => this.take(data));
    socket.on("error", () => this.end());
    socket.on("close", () => this.end());
  }

  /** Answers the handshake. Undefined, with a 400 sent, if the client speaks none of the protocols. */
  static accept(
    request: IncomingMessage,
    socket: Duplex,
    handlers: {
      readonly head: Uint8Array;
      readonly receive: (channel: number, data: Buffer) => void;
      readonly onEnd: () => void;
    },
  ): ChannelSocket | undefined {
    const offered = (request.headers["sec-websocket-protocol"] ?? "").split(/\s*,\s*/);
    const [protocol] = protocols.flatMap((each) => offered.filter((name) => name.startsWith(each)));
    const key = request.headers["sec-websocket-key"];
    const isWebSocket = request.headers.upgrade?.toLowerCase() === "websocket";
    if (!isWebSocket || protocol === undefined || key === undefined) {
      refuse(socket, 400, "simulated nodes speak WebSocket with channels of version 5 or 4\n");
      return undefined;
    }
    const accepted = createHash("sha1").update(`${key}${handshakeKey}`).digest("base64");
    socket.write(
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
        `Sec-WebSocket-Accept: ${accepted}\r\nSec-WebSocket-Protocol: ${protocol}\r\n\r\n`,
    );
    const { head, receive, onEnd } = handlers;
    return new ChannelSocket(socket, head, receive, onEnd);
  }

  send(channel: number, data: Uint8Array | string): void {
    if (this.isClosed) return;
    this.frame(opcodes.binary, Buffer.concat([Buffer.of(channel), Buffer.from(data)]));
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
    this.onEnd();
  }

  private fail(): void {
    this.socket.destroy();
    this.end();
  }

  private frame(opcode: number, payload: Buffer): void {
    const { length } = payload;
    const head =
      length < 126 ? Buffer.of(0x80 | opcode, length) : Buffer.alloc(length < 65_536 ? 4 : 10);
    if (length >= 126) {
      head[0] = 0x80 | opcode;
      head[1] = length < 65_536 ? 126 : 127;
      if (length < 65_536) head.writeUInt16BE(length, 2);
      else head.writeBigUInt64BE(BigInt(length), 2);
    }
    this.socket.write(Buffer.concat([head, payload]));
  }

  private take(data: Buffer): void {
    this.pending = Buffer.concat([this.pending, data]);
    for (let used = this.parse(); used > 0 && !this.isClosed; used = this.parse()) {
      this.pending = this.pending.subarray(used);
    }
  }

  /** Handles the first frame. Returns its length; 0 = it is incomplete. */
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
    if (!isMasked || length > longestMessage) {
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
    this.message.push(payload);
    const size = this.message.reduce((sum, { length }) => sum + length, 0);
    if (size > longestMessage) return this.fail();
    if (!isLast) return;
    const whole = Buffer.concat(this.message);
    this.message = [];
    if (whole.length > 0) this.receive(whole[0]!, whole.subarray(1));
  }
}

/** Ends a connection that asked for an upgrade with a response instead. */
export function refuse(socket: Duplex, code: number, text: string): void {
  const length = Buffer.byteLength(text);
  socket.end(
    `HTTP/1.1 ${code} Refused\r\nContent-Type: text/plain; charset=utf-8\r\n` +
      `Content-Length: ${length}\r\nConnection: close\r\n\r\n${text}`,
  );
}
