/** Frames of HTTP/2 (RFC 9113, sections 4 and 6) that a client of etcd uses. */

export const frameType = {
  data: 0,
  headers: 1,
  rstStream: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

export const flag = { ack: 1, endStream: 1, endHeaders: 4, padded: 8, priority: 32 } as const;

export const setting = {
  headerTableSize: 1,
  enablePush: 2,
  maxConcurrentStreams: 3,
  initialWindowSize: 4,
  maxFrameSize: 5,
} as const;

export const errorCode = {
  protocol: 1,
  flowControl: 3,
  frameSize: 6,
  refusedStream: 7,
  cancel: 8,
  compression: 9,
} as const;

export const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
export const frameHeaderBytes = 9;
/** Default of SETTINGS_MAX_FRAME_SIZE. */
export const defaultFrameBytes = 16_384;
/** Default flow-control window of streams and of the connection, in bytes. */
export const defaultWindowBytes = 65_535;

/** A connection error of HTTP/2. */
export class ProtocolFault extends Error {
  override readonly name = "ProtocolFault";
  constructor(
    readonly code: number,
    message: string,
  ) {
    super(message);
  }
}

export interface Frame {
  readonly type: number;
  readonly flags: number;
  /** 0 = the connection. */
  readonly stream: number;
  /** View of the received data. */
  readonly payload: Buffer;
}

export function writeFrameHeader(
  into: Buffer,
  at: number,
  { type, flags, stream, length }: Omit<Frame, "payload"> & { readonly length: number },
): number {
  into.writeUIntBE(length, at, 3);
  into[at + 3] = type;
  into[at + 4] = flags;
  into.writeUInt32BE(stream, at + 5);
  return at + frameHeaderBytes;
}

export function frameBytes(frame: Frame): Buffer {
  const { payload } = frame;
  const bytes = Buffer.allocUnsafe(frameHeaderBytes + payload.length);
  writeFrameHeader(bytes, 0, { ...frame, length: payload.length });
  bytes.set(payload, frameHeaderBytes);
  return bytes;
}

/** A payload of one 32-bit number: an error code or a window increment. */
export function numberPayload(value: number): Buffer {
  const payload = Buffer.allocUnsafe(4);
  payload.writeUInt32BE(value);
  return payload;
}

export function settingsPayload(settings: readonly (readonly [number, number])[]): Buffer {
  const payload = Buffer.allocUnsafe(6 * settings.length);
  for (const [index, [id, value]] of settings.entries()) {
    payload.writeUInt16BE(id, 6 * index);
    payload.writeUInt32BE(value, 6 * index + 2);
  }
  return payload;
}

/** Splits received chunks into frames. */
export class FrameReader {
  /** Chunks of an incomplete frame. */
  #rest: Buffer[] = [];
  #size = 0;
  #wanted = frameHeaderBytes;

  /**
   * Adds a chunk; calls `receive` for each frame that it completes.
   * @throws ProtocolFault for a frame that exceeds the default maximum size
   */
  take(chunk: Buffer, receive: (frame: Frame) => void): void {
    let bytes = chunk;
    if (this.#size > 0) {
      this.#rest.push(chunk);
      this.#size += chunk.length;
      if (this.#size < this.#wanted) return;
      bytes = Buffer.concat(this.#rest, this.#size);
    }
    let at = 0;
    this.#wanted = frameHeaderBytes;
    while (bytes.length - at >= frameHeaderBytes) {
      const length = bytes.readUIntBE(at, 3);
      if (length > defaultFrameBytes) {
        throw new ProtocolFault(errorCode.frameSize, `a frame of ${length} bytes`);
      }
      this.#wanted = frameHeaderBytes + length;
      if (bytes.length - at < this.#wanted) break;
      const type = bytes[at + 3]!;
      const flags = bytes[at + 4]!;
      const stream = bytes.readUInt32BE(at + 5) & 0x7fff_ffff;
      const payload = bytes.subarray(at + frameHeaderBytes, at + this.#wanted);
      at += this.#wanted;
      this.#wanted = frameHeaderBytes;
      receive({ type, flags, stream, payload });
    }
    this.#rest = at === bytes.length ? [] : [bytes.subarray(at)];
    this.#size = bytes.length - at;
  }
}
