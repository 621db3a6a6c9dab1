/** Server side of SPDY/3.1: the subset that Kubernetes clients use for byte streams. */
import { Duplex } from "node:stream";
import { emptyHeaderBlock, HeaderReader } from "./spdy-headers.ts";

const types = { synStream: 1, synReply: 2, reset: 3, ping: 6, goAway: 7, windowUpdate: 9 } as const;
const version = 0x8003;
const flags = { fin: 1 } as const;
const statuses = { protocolError: 1, refusedStream: 3, cancel: 5 } as const;

/** Maximum frame size in bytes. */
const maxFrameBytes = 1 << 20;
/** Maximum number of concurrent streams. */
const maxStreams = 256;
/** Bytes received before a WINDOW_UPDATE is sent. */
const windowStep = 32_768;
/** Time in ms that a client has to close an ended connection. */
const lingerMs = 10_000;

/** A client-initiated stream. Backpressure of its reader pauses the whole connection. */
export class SpdyStream extends Duplex {
  private wanted: (() => void) | undefined;
  private isEnded = false;
  private taken = 0;

  constructor(
    readonly id: number,
    readonly headers: ReadonlyMap<string, string>,
    private readonly connection: SpdyConnection,
  ) {
    super();
    // The connection reports errors; a reset stream only affects its user.
    this.on("error", () => undefined);
  }

  /** Passes received bytes to the reader. Resolves when the reader accepts more. */
  async receive(data: Buffer): Promise<void> {
    if (this.isEnded || this.destroyed) return;
    this.taken += data.length;
    if (this.taken >= windowStep) {
      this.connection.updateWindow(this.id, this.taken);
      this.taken = 0;
    }
    if (this.push(data)) return;
    await new Promise<void>((resolve) => (this.wanted = resolve));
  }

  /** Ends the readable side: the client sent FIN. */
  receiveEnd(): void {
    if (this.isEnded || this.destroyed) return;
    this.isEnded = true;
    this.push(null);
  }

  override _read(): void {
    this.wanted?.();
    this.wanted = undefined;
  }

  override _write(data: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    this.connection.sendData(this.id, data, done);
  }

  override _final(done: (error?: Error | null) => void): void {
    this.connection.sendData(this.id, undefined, done);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this._read();
    const isComplete = this.isEnded && this.writableFinished;
    this.connection.drop(this.id, isComplete);
    done(error);
  }
}

/** Streams of one connection. */
export class SpdyConnection {
  private readonly streams = new Map<number, SpdyStream>();
  private readonly headers = new HeaderReader();
  private lastId = 0;
  private hasReplied = false;
  private taken = 0;

  constructor(
    private readonly transport: Duplex,
    /** Handles a new stream; false = refused. */
    private readonly accept: (stream: SpdyStream) => boolean,
  ) {
    transport.on("error", () => undefined);
    transport.once("close", () => this.breakStreams());
  }

  /** Reads frames until the connection ends or fails; malformed frames end it. */
  async run(): Promise<void> {
    let pending: Buffer = Buffer.alloc(0);
    try {
      for await (const data of this.transport) {
        pending = pending.length === 0 ? data : Buffer.concat([pending, data]);
        for (let length = frameLength(pending); length <= pending.length;) {
          await this.handle(pending.subarray(0, length));
          pending = pending.subarray(length);
          length = frameLength(pending);
        }
        await this.drained();
      }
    } catch {
      // Protocol or connection error: the connection is closed without a response.
    } finally {
      this.headers.close();
      this.breakStreams();
      this.transport.destroy();
    }
  }

  /** Flushes pending writes and ends the connection. */
  close(): void {
    this.control(types.goAway, [this.lastId, 0]);
    this.transport.end();
    setTimeout(() => this.transport.destroy(), lingerMs).unref();
  }

  sendData(id: number, data: Buffer | undefined, done: (error?: Error | null) => void): void {
    if (this.transport.destroyed || this.transport.writableEnded) return done();
    const head = Buffer.alloc(8);
    head.writeUInt32BE(id, 0);
    head.writeUInt32BE(data?.length ?? 0, 4);
    head[4] = data === undefined ? flags.fin : 0;
    this.transport.write(data === undefined ? head : Buffer.concat([head, data]), done);
  }

  updateWindow(id: number, bytes: number): void {
    this.control(types.windowUpdate, [id, bytes]);
  }

  /** Removes a stream; resets it unless both sides have ended. */
  drop(id: number, isWhole: boolean): void {
    if (!this.streams.delete(id) || isWhole) return;
    this.control(types.reset, [id, statuses.cancel]);
  }

  private breakStreams(): void {
    for (const stream of this.streams.values()) stream.destroy();
  }

  private async drained(): Promise<void> {
    const { transport } = this;
    if (!transport.writableNeedDrain) return;
    await new Promise<void>((resolve) => {
      const done = () => {
        transport.off("drain", done).off("close", done);
        resolve();
      };
      transport.on("drain", done).on("close", done);
    });
  }

  private control(type: number, numbers: readonly number[], block?: Buffer): void {
    if (this.transport.destroyed || this.transport.writableEnded) return;
    const frame = Buffer.alloc(8 + numbers.length * 4);
    frame.writeUInt16BE(version, 0);
    frame.writeUInt16BE(type, 2);
    frame.writeUInt32BE(numbers.length * 4 + (block?.length ?? 0), 4);
    numbers.forEach((value, index) => frame.writeUInt32BE(value, 8 + index * 4));
    this.transport.write(block === undefined ? frame : Buffer.concat([frame, block]));
  }

  private async handle(frame: Buffer): Promise<void> {
    const isFinal = (frame[4]! & flags.fin) !== 0;
    if ((frame[0]! & 0x80) === 0) {
      const id = frame.readUInt32BE(0);
      await this.handleData(id, frame.subarray(8));
      if (isFinal) this.streams.get(id)?.receiveEnd();
      return;
    }
    const type = frame.readUInt16BE(2);
    if (type === types.synStream) return this.open(frame, isFinal);
    if (type === types.ping) this.control(types.ping, [frame.readUInt32BE(8)]);
    if (type === types.reset) {
      const id = frame.readUInt32BE(8) & 0x7fff_ffff;
      const stream = this.streams.get(id);
      this.streams.delete(id);
      stream?.destroy();
    }
  }

  private async handleData(id: number, data: Buffer): Promise<void> {
    if (data.length === 0) return;
    this.taken += data.length;
    if (this.taken >= windowStep) {
      this.updateWindow(0, this.taken);
      this.taken = 0;
    }
    await this.streams.get(id)?.receive(data);
  }

  private async open(frame: Buffer, isFinal: boolean): Promise<void> {
    const id = frame.readUInt32BE(8) & 0x7fff_ffff;
    // Also decodes the headers of refused streams: all blocks share one zlib stream.
    const headers = await this.headers.read(frame.subarray(18));
    if (id <= this.lastId || id % 2 === 0) {
      return this.control(types.reset, [id, statuses.protocolError]);
    }
    this.lastId = id;
    const stream = new SpdyStream(id, headers, this);
    if (this.streams.size >= maxStreams || !this.accept(stream)) {
      return this.control(types.reset, [id, statuses.refusedStream]);
    }
    this.streams.set(id, stream);
    this.control(types.synReply, [id], emptyHeaderBlock(!this.hasReplied));
    this.hasReplied = true;
    if (isFinal) stream.receiveEnd();
  }
}

/** Length of the first frame; Infinity = not yet known. */
function frameLength(pending: Buffer): number {
  if (pending.length < 8) return Infinity;
  const length = 8 + (pending.readUInt32BE(4) & 0xff_ffff);
  if (length > maxFrameBytes) throw new RangeError("frame is too long");
  return length;
}
