import type { Socket } from "node:net";
import { decodeHeaders, type Headers, HpackFault } from "./hpack.ts";
import {
  defaultFrameBytes,
  defaultWindowBytes,
  errorCode,
  flag,
  type Frame,
  frameBytes,
  frameHeaderBytes,
  FrameReader,
  frameType,
  numberPayload,
  preface,
  ProtocolFault,
  setting,
  settingsPayload,
  writeFrameHeader,
} from "./http2-frames.ts";

/** Receives the events of a stream. */
export interface StreamObserver {
  /** Called with headers and with trailers. */
  headers(headers: Headers): void;
  data(bytes: Buffer): void;
  /** Called once, as the last event. */
  closed(end: StreamEnd): void;
}

/** How a stream ended: completely, by a reset or a lost connection, or not processed by the peer. */
export type StreamEnd = "complete" | "cut" | "refused";

interface ConnectionOptions {
  /** Flow-control window of each stream and of the connection, in bytes. */
  readonly windowBytes: number;
  /** Called when the peer has sent its settings, which complete the handshake. */
  readonly onSettings: () => void;
  /** Called when the connection opens no more streams. */
  readonly onLeave: (reason: string) => void;
  /** Identifier of the last stream to open; default: the maximum. */
  readonly lastStream?: number;
}

const emptyPayload = Buffer.alloc(0);
const ignore = (): void => undefined;
/** Of a closed stream. */
const noObserver: StreamObserver = { headers: ignore, data: ignore, closed: ignore };
const maxWindow = 2 ** 31 - 1;
/** Maximum stream identifier, which a busy connection reaches after some days. */
const maxStreamId = 2 ** 31 - 1;
const maxHeaderBytes = 64 * 1024;
/** Maximum number of cached header blocks; responses of a server have few different ones. */
const maxCachedBlocks = 16;

/**
 * The client side of an HTTP/2 connection. node:http2 takes two to three times the CPU time per request:
 * it creates a Duplex stream and an async resource for each, and writes each separately. Here the frames
 * of one turn of the event loop are written together.
 */
export class Http2Connection {
  readonly #socket: Socket;
  readonly #options: ConnectionOptions;
  readonly #frames = new FrameReader();
  readonly #streams = new Map<number, ClientStream>();
  /** Streams that wait for the peer's limit of concurrent streams, in order. */
  readonly #waiting = new Set<ClientStream>();
  readonly #blocks = new Map<string, Headers>();
  #out: Buffer[] = [];
  #nextId = 1;
  #isLeaving = false;
  /** Send window, and bytes received since the last WINDOW_UPDATE. */
  #sendWindow = defaultWindowBytes;
  #received = 0;
  #peer = {
    frameBytes: defaultFrameBytes,
    windowBytes: defaultWindowBytes,
    streams: Number.POSITIVE_INFINITY,
  };
  /** Header block that continues in the next frame. */
  #continued: { stream: number; flags: number; parts: Buffer[]; size: number } | undefined;
  #onPong: (() => void) | undefined;

  constructor(socket: Socket, options: ConnectionOptions) {
    this.#socket = socket;
    this.#options = options;
    // Frames are coalesced here, so Nagle's algorithm would only delay them.
    socket.setNoDelay();
    const { windowBytes } = options;
    const settings = settingsPayload([
      [setting.headerTableSize, 0],
      [setting.enablePush, 0],
      [setting.initialWindowSize, windowBytes],
    ]);
    this.#out.push(preface);
    this.#send(frameType.settings, 0, 0, settings);
    this.#send(frameType.windowUpdate, 0, 0, numberPayload(windowBytes - defaultWindowBytes));
    this.#flush();
    socket.on("data", (chunk: Buffer) => this.#receive(chunk));
    socket.on("close", () => this.#end());
  }

  /** Number of streams that have not ended. */
  get size(): number {
    return this.#streams.size + this.#waiting.size;
  }

  /** Whether new streams can be opened. */
  get isOpen(): boolean {
    return !this.#isLeaving;
  }

  /** Opens a stream with encoded headers, which must fit in one frame. */
  open(headers: Buffer, observer: StreamObserver): ClientStream {
    const stream = new ClientStream(this, headers, observer);
    this.#waiting.add(stream);
    this.#openWaiting();
    return stream;
  }

  ping(onPong: () => void): void {
    this.#onPong = onPong;
    this.#send(frameType.ping, 0, 0, Buffer.alloc(8));
  }

  /** Opens no more streams, and closes the connection after the last one. */
  close(): void {
    this.#leave("closed by the client");
    if (this.size === 0) this.#socket.destroy();
  }

  /** Sends data of a stream within the windows and the maximum frame size. */
  transmit(stream: ClientStream): void {
    while (stream.outgoing.length > 0) {
      const [first] = stream.outgoing as [Buffer, ...Buffer[]];
      const room = Math.min(this.#sendWindow, stream.sendWindow, this.#peer.frameBytes);
      if (room <= 0 && first.length > 0) return;
      const payload = first.length <= room ? first : first.subarray(0, room);
      if (payload === first) stream.outgoing.shift();
      else stream.outgoing[0] = first.subarray(room);
      this.#sendWindow -= payload.length;
      stream.sendWindow -= payload.length;
      const isLast = stream.isEnded && stream.outgoing.length === 0;
      this.#sendUncopied(frameType.data, isLast ? flag.endStream : 0, stream.id, payload);
    }
  }

  /** Enlarges the receive window of a stream. */
  enlargeWindow(stream: ClientStream, bytes: number): void {
    this.#send(frameType.windowUpdate, 0, stream.id, numberPayload(bytes));
  }

  get windowBytes(): number {
    return this.#options.windowBytes;
  }

  /** Cancels a stream. */
  reset(stream: ClientStream): void {
    if (this.#waiting.has(stream)) return this.#closeStream(stream, "refused");
    this.#send(frameType.rstStream, 0, stream.id, numberPayload(errorCode.cancel));
    this.#closeStream(stream, "cut");
  }

  #openWaiting(): void {
    const { lastStream = maxStreamId } = this.#options;
    for (const stream of this.#waiting) {
      if (this.#streams.size >= this.#peer.streams) return;
      this.#waiting.delete(stream);
      stream.id = this.#nextId;
      stream.sendWindow = this.#peer.windowBytes;
      this.#nextId += 2;
      this.#streams.set(stream.id, stream);
      this.#sendUncopied(frameType.headers, flag.endHeaders, stream.id, stream.head);
      this.transmit(stream);
      if (this.#nextId > lastStream) return this.#leave("all stream identifiers are used");
    }
  }

  #closeStream(stream: ClientStream, end: StreamEnd): void {
    this.#streams.delete(stream.id);
    this.#waiting.delete(stream);
    const { observer } = stream;
    stream.release();
    observer.closed(end);
    if (!this.#isLeaving) this.#openWaiting();
    else if (this.size === 0) this.#socket.destroy();
  }

  #leave(reason: string): void {
    if (this.#isLeaving) return;
    this.#isLeaving = true;
    this.#options.onLeave(reason);
    for (const stream of this.#waiting) this.#closeStream(stream, "refused");
  }

  /** Called when the socket has closed. */
  #end(): void {
    this.#leave("the connection was closed");
    for (const stream of this.#streams.values()) this.#closeStream(stream, "cut");
  }

  #send(type: number, flags: number, stream: number, payload: Buffer): void {
    this.#queue(frameBytes({ type, flags, stream, payload }));
  }

  /** Queues a frame without copying its payload. */
  #sendUncopied(type: number, flags: number, stream: number, payload: Buffer): void {
    const header = Buffer.allocUnsafe(frameHeaderBytes);
    writeFrameHeader(header, 0, { type, flags, stream, length: payload.length });
    this.#queue(header);
    this.#out.push(payload);
  }

  #queue(bytes: Buffer): void {
    if (this.#out.length === 0) setImmediate(() => this.#flush());
    this.#out.push(bytes);
  }

  #flush(): void {
    const out = this.#out;
    this.#out = [];
    if (!this.#socket.destroyed) this.#socket.write(Buffer.concat(out));
  }

  #receive(chunk: Buffer): void {
    try {
      this.#frames.take(chunk, (frame) => this.#receiveFrame(frame));
    } catch (fault) {
      const isHpack = fault instanceof HpackFault;
      if (!isHpack && !(fault instanceof ProtocolFault)) throw fault;
      this.#leave(`invalid HTTP/2: ${fault.message}`);
      const code = isHpack ? errorCode.compression : fault.code;
      const payload = Buffer.concat([numberPayload(0), numberPayload(code)]);
      this.#send(frameType.goaway, 0, 0, payload);
      this.#flush();
      this.#socket.destroy();
    }
  }

  #receiveFrame(frame: Frame): void {
    if (this.#continued !== undefined && frame.type !== frameType.continuation) {
      throw new ProtocolFault(errorCode.protocol, "expected CONTINUATION");
    }
    switch (frame.type) {
      case frameType.data:
        return this.#receiveData(frame);
      case frameType.headers:
        return this.#receiveHeaders(frame);
      case frameType.continuation:
        return this.#continueHeaders(frame);
      case frameType.rstStream:
        return this.#receiveReset(frame);
      case frameType.settings:
        return this.#receiveSettings(frame);
      case frameType.ping:
        return this.#receivePing(frame);
      case frameType.goaway:
        return this.#receiveGoaway(frame);
      case frameType.windowUpdate:
        return this.#receiveWindow(frame);
      case frameType.pushPromise:
        throw new ProtocolFault(errorCode.protocol, "unexpected PUSH_PROMISE");
    }
  }

  #receiveData(frame: Frame): void {
    const { length } = frame.payload;
    this.#received += length;
    if (this.#received > this.windowBytes) {
      throw new ProtocolFault(errorCode.flowControl, "connection window exceeded");
    }
    // The connection window is refilled on receipt, so that a slow stream does not block others.
    if (this.#received >= this.windowBytes / 2) {
      this.#send(frameType.windowUpdate, 0, 0, numberPayload(this.#received));
      this.#received = 0;
    }
    const stream = this.#streams.get(frame.stream);
    if (stream === undefined) return;
    stream.receive(unpadded(frame), length);
    if ((frame.flags & flag.endStream) !== 0) this.#complete(stream);
  }

  #receiveHeaders(frame: Frame): void {
    let block = unpadded(frame);
    if ((frame.flags & flag.priority) !== 0) block = block.subarray(5);
    if ((frame.flags & flag.endHeaders) !== 0) return this.#deliverHeaders(frame, block);
    const { stream, flags } = frame;
    this.#continued = { stream, flags, parts: [block], size: block.length };
  }

  #continueHeaders({ stream, flags, payload }: Frame): void {
    const continued = this.#continued;
    if (continued === undefined || continued.stream !== stream) {
      throw new ProtocolFault(errorCode.protocol, "unexpected CONTINUATION");
    }
    continued.parts.push(payload);
    continued.size += payload.length;
    if (continued.size > maxHeaderBytes) {
      throw new ProtocolFault(errorCode.protocol, "header block too large");
    }
    if ((flags & flag.endHeaders) === 0) return;
    this.#continued = undefined;
    this.#deliverHeaders(continued, Buffer.concat(continued.parts));
  }

  #deliverHeaders({ stream: id, flags }: { stream: number; flags: number }, block: Buffer): void {
    const headers = this.#decodeBlock(block);
    const stream = this.#streams.get(id);
    if (stream === undefined) return;
    stream.observer.headers(headers);
    if ((flags & flag.endStream) !== 0) this.#complete(stream);
  }

  /** Decodes a header block. Without a dynamic table, equal blocks have equal headers. */
  #decodeBlock(block: Buffer): Headers {
    const key = block.toString("latin1");
    const cached = this.#blocks.get(key);
    if (cached !== undefined) return cached;
    const headers = decodeHeaders(block);
    if (this.#blocks.size < maxCachedBlocks && block.length < 256) this.#blocks.set(key, headers);
    return headers;
  }

  /** Called when the peer has ended its side of the stream. */
  #complete(stream: ClientStream): void {
    const isHalfOpen = !stream.isEnded || stream.outgoing.length > 0;
    if (isHalfOpen) this.#send(frameType.rstStream, 0, stream.id, numberPayload(errorCode.cancel));
    this.#closeStream(stream, "complete");
  }

  #receiveReset({ stream: id, payload }: Frame): void {
    const stream = this.#streams.get(id);
    const isRefused = numberIn(payload, 0) === errorCode.refusedStream;
    if (stream !== undefined) this.#closeStream(stream, isRefused ? "refused" : "cut");
  }

  #receiveSettings({ flags, payload }: Frame): void {
    if ((flags & flag.ack) !== 0) return;
    for (let at = 0; at + 6 <= payload.length; at += 6) {
      this.#applySetting(payload.readUInt16BE(at), payload.readUInt32BE(at + 2));
    }
    this.#send(frameType.settings, flag.ack, 0, emptyPayload);
    this.#options.onSettings();
    this.#openWaiting();
    this.#transmitAll();
  }

  #applySetting(id: number, value: number): void {
    if (id === setting.maxConcurrentStreams) this.#peer.streams = value;
    else if (id === setting.maxFrameSize) this.#peer.frameBytes = Math.max(value, 1);
    else if (id === setting.initialWindowSize) {
      if (value > maxWindow)
        throw new ProtocolFault(errorCode.flowControl, "initial window too large");
      for (const stream of this.#streams.values()) {
        stream.sendWindow += value - this.#peer.windowBytes;
      }
      this.#peer.windowBytes = value;
    }
  }

  #receivePing({ flags, payload }: Frame): void {
    if ((flags & flag.ack) !== 0) this.#onPong?.();
    else this.#send(frameType.ping, flag.ack, 0, payload);
  }

  /** Handles GOAWAY: streams after the last one were not processed; the others may finish. */
  #receiveGoaway({ payload }: Frame): void {
    const last = numberIn(payload, 0);
    this.#leave("the member is going away");
    for (const stream of this.#streams.values()) {
      if (stream.id > last) this.#closeStream(stream, "refused");
    }
  }

  #receiveWindow({ stream: id, payload }: Frame): void {
    const increment = numberIn(payload, 0);
    if (id === 0) {
      this.#sendWindow += increment;
      return this.#transmitAll();
    }
    const stream = this.#streams.get(id);
    if (stream === undefined) return;
    stream.sendWindow += increment;
    this.transmit(stream);
  }

  #transmitAll(): void {
    for (const stream of this.#streams.values()) {
      if (stream.outgoing.length > 0) this.transmit(stream);
    }
  }
}

/** One request and its response. */
export class ClientStream {
  id = 0;
  sendWindow = 0;
  /** Data that waits for the send window or for the stream to open. */
  outgoing: Buffer[] = [];
  /** Whether END_STREAM follows `outgoing`. */
  isEnded = false;
  isClosed = false;
  /** Received bytes of the window, and the consumed ones among them. */
  #received = 0;
  #read = 0;

  constructor(
    private readonly connection: Http2Connection,
    public head: Buffer,
    public observer: StreamObserver,
  ) {}

  /** Sends data; `end` = it is the last. */
  send(bytes: Buffer, end: boolean): void {
    if (this.isClosed) return;
    this.outgoing.push(bytes);
    this.isEnded = end;
    if (this.id !== 0) this.connection.transmit(this);
  }

  /**
   * Drops what the stream refers to. A Map or Set that is resized links its old table to the new one:
   * once a table is in the old generation, V8's scavenges keep everything that later tables held when
   * they were replaced, until the next mark-compact. So what they hold has to be small.
   */
  release(): void {
    this.isClosed = true;
    this.outgoing = [];
    this.head = emptyPayload;
    this.observer = noObserver;
  }

  /** Resets the stream. */
  cancel(): void {
    if (!this.isClosed) this.connection.reset(this);
  }

  /** Delivers received data; `length` includes padding. */
  receive(bytes: Buffer, length: number): void {
    this.#received += length;
    if (this.#received > this.connection.windowBytes) {
      throw new ProtocolFault(errorCode.flowControl, "stream window exceeded");
    }
    this.#read += length - bytes.length;
    this.observer.data(bytes);
  }

  /** Returns bytes of consumed data to the receive window. */
  consumed(bytes: number): void {
    this.#read += bytes;
    if (this.isClosed || this.#read < this.connection.windowBytes / 2) return;
    this.connection.enlargeWindow(this, this.#read);
    this.#received -= this.#read;
    this.#read = 0;
  }
}

function unpadded({ flags, payload }: Frame): Buffer {
  if ((flags & flag.padded) === 0) return payload;
  const padding = payload[0] ?? 0;
  if (padding >= payload.length) throw new ProtocolFault(errorCode.protocol, "invalid padding");
  return payload.subarray(1, payload.length - padding);
}

/** Reads a 31-bit number of a payload. */
function numberIn(payload: Buffer, at: number): number {
  if (payload.length < at + 4) throw new ProtocolFault(errorCode.frameSize, "truncated frame");
  return payload.readUInt32BE(at) & 0x7fff_ffff;
}
