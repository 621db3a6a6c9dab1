/** WebSocket (RFC 6455) as watches use it: the server speaks, the client only listens. */
import { createHash } from "node:crypto";
import type { Duplex } from "node:stream";
import { badRequest } from "#meta";
import { ClientGone, type Exchange, type Upgrade } from "./exchange.ts";
import type { Format } from "../response/negotiation.ts";
import { CountingResponseStream } from "./counting-response-stream.ts";

const GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const FINAL = 0x80;
const MASKED = 0x80;
const TEXT = 0x1;
const BINARY = 0x2;
const CLOSE = 0x8;
const PING = 0x9;
const PONG = 0xa;
/** Longest payload of a control frame, in bytes. */
const LONGEST_CONTROL = 125;
/** Milliseconds that the client may take to close its side, too. */
const LEAVING = 2_000;
const NORMAL_CLOSURE = Buffer.from([0x03, 0xe8]);

/** The other end of the connection if the client asks for a WebSocket on it. */
export function webSocketOf(exchange: Exchange): Upgrade | undefined {
  const wanted = exchange.header("upgrade")?.toLowerCase();
  return wanted === "websocket" ? exchange.upgrade : undefined;
}

/**
 * Takes the frames of a watch: each event becomes one message, of text for JSON and else of bytes.
 * `protocols`: subprotocols that the client offers, of which it gets the first.
 *
 * @throws StatusError 400 when the client does not ask as it should
 */
export class WebSocketResponseStream extends CountingResponseStream {
  private readonly socket: Duplex;
  private readonly accept: string;
  private ended = false;

  constructor(
    private readonly exchange: Exchange,
    upgrade: Upgrade,
    private readonly options: { readonly format: Format; readonly protocols: string },
  ) {
    super();
    const key = exchange.header("sec-websocket-key") ?? "";
    if (!/^[+/0-9A-Za-z]{22}==$/.test(key) || exchange.header("sec-websocket-version") !== "13") {
      throw badRequest("the request for a WebSocket needs a key, and version 13");
    }
    this.accept = createHash("sha1").update(`${key}${GUID}`).digest("base64");
    this.socket = upgrade.socket;
    this.socket.once("close", () => exchange.abort(new ClientGone("the client has left")));
    const listener = new Listener({
      pong: (payload) => this.send(PONG, payload),
      leave: () => exchange.abort(new ClientGone("the client has left")),
    });
    listener.take(upgrade.head);
    this.socket.on("data", (chunk: Buffer) => listener.take(chunk));
  }

  protected begin(): void {
    if (this.closed) return;
    this.exchange.response.handOver(101);
    const [protocol = ""] = this.options.protocols.split(",");
    const chosen = protocol.trim();
    const lines = [
      "HTTP/1.1 101 Switching Protocols",
      "Upgrade: websocket",
      "Connection: Upgrade",
      `Sec-WebSocket-Accept: ${this.accept}`,
      ...(/^[\w.!#$%&'*+^`|~-]+$/.test(chosen) ? [`Sec-WebSocket-Protocol: ${chosen}`] : []),
    ];
    this.socket.write(`${lines.join("\r\n")}\r\n\r\n`);
  }

  flush(): void {
    // The response to the handshake has left already.
  }

  protected put(chunks: readonly Uint8Array[]): Promise<void> | undefined {
    const split = this.options.format === "protobuf" ? lengthDelimited : lines;
    const messages = chunks.flatMap((chunk) => [...split(chunk)]);
    const opcode = split === lengthDelimited ? BINARY : TEXT;
    let hasRoom = true;
    for (const message of messages) hasRoom = this.send(opcode, message);
    if (hasRoom) return undefined;
    return new Promise((resolve) => {
      const done = () => {
        this.socket.off("drain", done);
        this.socket.off("close", done);
        resolve();
      };
      this.socket.on("drain", done);
      this.socket.on("close", done);
    });
  }

  protected finish(): void {
    this.send(CLOSE, NORMAL_CLOSURE);
    this.ended = true;
    this.socket.end();
    const timer = setTimeout(() => this.socket.destroy(), LEAVING);
    this.socket.once("close", () => clearTimeout(timer));
  }

  destroy(): void {
    this.ended = true;
    this.socket.destroy();
  }

  get closed(): boolean {
    return this.ended || this.socket.destroyed || this.socket.writableEnded;
  }

  /** False when the client does not keep up. */
  private send(opcode: number, payload: Uint8Array): boolean {
    if (this.closed || !this.started) return true;
    this.socket.write(frameHead(opcode, payload.byteLength));
    return this.socket.write(payload);
  }
}

function frameHead(opcode: number, size: number): Uint8Array {
  if (size <= LONGEST_CONTROL) return Buffer.from([FINAL | opcode, size]);
  const isShort = size < 0x1_0000;
  const head = Buffer.alloc(isShort ? 4 : 10);
  head[0] = FINAL | opcode;
  head[1] = isShort ? 126 : 127;
  if (isShort) head.writeUInt16BE(size, 2);
  else head.writeBigUInt64BE(BigInt(size), 2);
  return head;
}

/** Each with its line feed, as Kubernetes sends them. */
function* lines(chunk: Uint8Array): Iterable<Uint8Array> {
  for (let from = 0; from < chunk.byteLength;) {
    const end = chunk.indexOf(0x0a, from);
    const to = end < 0 ? chunk.byteLength : end + 1;
    yield chunk.subarray(from, to);
    from = to;
  }
}

/** Messages behind their lengths of four bytes, which a WebSocket does not need. */
function* lengthDelimited(chunk: Uint8Array): Iterable<Uint8Array> {
  const view = new DataView(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  for (let from = 0; from + 4 <= chunk.byteLength;) {
    const to = from + 4 + view.getUint32(from);
    yield chunk.subarray(from + 4, to);
    from = to;
  }
}

interface Heard {
  readonly pong: (payload: Uint8Array) => void;
  /** The client closes, or breaks the rules. */
  readonly leave: () => void;
}

/**
 * Hears what a client says that has nothing to say: pings are answered, data is passed over without
 * being kept, however long it is.
 */
class Listener {
  /** Of a head or a control frame that has not come whole yet. */
  private rest: Uint8Array = new Uint8Array();
  /** Bytes of data still to be passed over. */
  private skipping = 0n;
  private over = false;

  constructor(private readonly heard: Heard) {}

  take(chunk: Uint8Array): void {
    let bytes = this.rest.byteLength === 0 ? chunk : Buffer.concat([this.rest, chunk]);
    while (!this.over) {
      const skipped = Number(
        this.skipping < BigInt(bytes.byteLength) ? this.skipping : BigInt(bytes.byteLength),
      );
      this.skipping -= BigInt(skipped);
      bytes = bytes.subarray(skipped);
      const used = this.skipping > 0n ? 0 : this.frame(bytes);
      if (used === 0) break;
      bytes = bytes.subarray(used);
    }
    this.rest = this.over ? new Uint8Array() : bytes.slice();
  }

  /** Bytes of the frame (of data: of its head) that begins here; 0 when more must come first. */
  private frame(bytes: Uint8Array): number {
    if (bytes.byteLength < 2) return 0;
    const opcode = bytes[0]! & 0x0f;
    const short = bytes[1]! & 0x7f;
    const isControl = opcode >= CLOSE;
    if ((bytes[1]! & MASKED) === 0 || (isControl && short > LONGEST_CONTROL)) return this.end();
    const lengthSize = short === 126 ? 2 : short === 127 ? 8 : 0;
    const head = 2 + lengthSize + 4;
    if (bytes.byteLength < head) return 0;
    if (!isControl) {
      const view = new DataView(bytes.buffer, bytes.byteOffset + 2);
      if (lengthSize === 8) this.skipping = view.getBigUint64(0);
      else this.skipping = BigInt(lengthSize === 2 ? view.getUint16(0) : short);
      return head;
    }
    if (bytes.byteLength < head + short) return 0;
    if (opcode === CLOSE) return this.end();
    if (opcode === PING) {
      const mask = bytes.subarray(head - 4, head);
      this.heard.pong(
        bytes.slice(head, head + short).map((byte, index) => byte ^ mask[index % 4]!),
      );
    }
    return head + short;
  }

  private end(): 0 {
    this.over = true;
    this.heard.leave();
    return 0;
  }
}
