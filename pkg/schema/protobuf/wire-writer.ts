import protobuf, { type Writer } from "protobufjs/minimal.js";

/** Wire types: the low three bits of a tag. */
export const wireTypes = {
  varint: 0,
  fixed64: 1,
  delimited: 2,
  startGroup: 3,
  endGroup: 4,
  fixed32: 5,
} as const;

const { varint, fixed64, delimited } = wireTypes;

/** Initial buffer size, which suffices for a request for one key. */
protobuf.Writer.initialBufferSize = 256;

/**
 * Writes a message field by field, for messages without a struct. Zero and empty values are written,
 * too.
 */
export class WireWriter {
  private readonly writer = protobuf.Writer.create();

  /** An integer of up to 64 bits, not negative. */
  number(field: number, value: number | bigint): this {
    const writer = this.writer.uint32((field << 3) | varint);
    if (typeof value === "number" && value <= 0xffff_ffff) writer.uint32(value);
    else writeInt64(value, writer);
    return this;
  }

  bool(field: number, value: boolean): this {
    this.writer.uint32((field << 3) | varint).bool(value);
    return this;
  }

  double(field: number, value: number): this {
    this.writer.uint32((field << 3) | fixed64).double(value);
    return this;
  }

  string(field: number, value: string): this {
    this.writer.uint32((field << 3) | delimited).string(value);
    return this;
  }

  bytes(field: number, value: Uint8Array): this {
    this.writer.uint32((field << 3) | delimited).bytes(value);
    return this;
  }

  /** Tag and length of a field whose `length` bytes the caller sends itself. */
  prefix(field: number, length: number): this {
    this.writer.uint32((field << 3) | delimited).uint32(length);
    return this;
  }

  /** Bytes as they are, without a tag. */
  raw(bytes: Uint8Array): this {
    this.writer.raw(bytes);
    return this;
  }

  /** A message inside this one: `write` adds its fields. */
  message(field: number, write: (inner: this) => unknown): this {
    this.writer.uint32((field << 3) | delimited).fork();
    write(this);
    this.writer.ldelim();
    return this;
  }

  /** A view of the writer's memory: the writer cannot be used afterwards. */
  finish(): Buffer {
    return this.writer.finish(true) as Buffer;
  }
}

/** Size of a field that holds `length` bytes, tag included; field numbers below 16. */
export function delimitedSize(length: number): number {
  let size = 2;
  for (let rest = length; rest >= 0x80; rest = Math.floor(rest / 0x80)) size++;
  return size + length;
}

/** Writes a field below 16 that holds `value` into a buffer with room; returns the offset after. */
export function writeDelimited(
  into: Buffer,
  start: number,
  field: number,
  value: Uint8Array,
): number {
  let at = start;
  into[at++] = (field << 3) | delimited;
  let rest = value.byteLength;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) into[at++] = (rest & 0x7f) | 0x80;
  into[at++] = rest;
  into.set(value, at);
  return at + value.byteLength;
}

/** An int64; a bigint keeps all 64 bits. */
export function writeInt64(value: number | bigint, writer: Writer): void {
  if (typeof value === "number") {
    writer.int64(value);
    return;
  }
  const low = Number(value & low32Mask);
  const high = Number((value >> 32n) & low32Mask);
  writer.int64({ low, high, unsigned: false });
}

const low32Mask = 0xffff_ffffn;
