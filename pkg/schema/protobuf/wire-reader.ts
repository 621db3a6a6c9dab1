import { toBuffer } from "#base";
import { DecodeFault, TooManyValues } from "../fault/faults.ts";
import { wireTypes } from "./wire-writer.ts";

const { varint, fixed64, delimited, startGroup, endGroup, fixed32 } = wireTypes;

/**
 * Reads messages field by field: `next` moves to a field, whose value must then be read or skipped.
 * Every length is checked against the bytes that are left before anything is allocated. Throws
 * DecodeFault, in the words of Go's generated code. (protobufjs' own reader truncates a 64-bit
 * length to 32 bits and has its own errors, so only its writer is used.)
 */
export class WireReader {
  /** Number and wire type of the current field. */
  field = 0;
  wireType = 0;
  /** Offset of the next byte, and the end of the innermost open message. */
  at = 0;
  end: number;
  /** Nesting depth, maintained by the caller. */
  depth = 0;
  /** Remaining weight budget. */
  weightLeft = Number.POSITIVE_INFINITY;
  readonly buffer: Buffer;

  constructor(bytes: Uint8Array) {
    this.buffer = toBuffer(bytes);
    this.end = this.buffer.length;
  }

  /** @throws TooManyValues */
  spend(weight: number): void {
    this.weightLeft -= weight;
    if (this.weightLeft < 0) throw new TooManyValues();
  }

  /** Reads the tag of the next field; false at the end of the message. */
  next(): boolean {
    if (this.at >= this.end) return false;
    const tag = this.buffer[this.at] as number;
    if (tag < 0x80) {
      this.at++;
      this.field = tag >> 3;
      this.wireType = tag & 7;
    } else {
      const long = this.varint();
      this.field = Math.floor(long / 8);
      this.wireType = long % 8;
    }
    return true;
  }

  /** Opens the message that comes next; returns the end of the outer one, for `leave`. */
  enter(): number {
    const outer = this.end;
    this.end = this.delimited();
    return outer;
  }

  /** Closes the innermost message, which has been read to its end. */
  leave(outer: number): void {
    this.end = outer;
  }

  /** The current field as an integer; exact below 2^53. */
  number(): number {
    this.expect(varint);
    return this.varint();
  }

  /** The current field as text. */
  text(): string {
    this.expect(delimited);
    return this.string();
  }

  /** The current field as bytes: a view, not a copy. */
  bytes(): Buffer {
    this.expect(delimited);
    return this.view();
  }

  /** The current field as a message: `read` reads its fields. */
  message<T>(read: (reader: this) => T): T {
    this.expect(delimited);
    const outer = this.enter();
    const result = read(this);
    this.leave(outer);
    return result;
  }

  private expect(wireType: number): void {
    if (this.wireType !== wireType) throw this.wrongWireType();
  }

  private wrongWireType(): DecodeFault {
    const message = `proto: wrong wireType = ${this.wireType} for field number ${this.field}`;
    return new DecodeFault(message);
  }

  /**
   * A varint of up to 64 bits whose value fits 32 bits unsigned; anything larger comes back as
   * larger.
   */
  varint(): number {
    const { buffer, end } = this;
    let at = this.at;
    if (at >= end) throw truncated();
    let byte = buffer[at++] as number;
    if (byte < 0x80) {
      this.at = at;
      return byte;
    }
    let value = byte & 0x7f;
    let unit = 0x80;
    for (let count = 1; count < 10; count++) {
      if (at >= end) throw truncated();
      byte = buffer[at++] as number;
      value += (byte & 0x7f) * unit;
      if (byte < 0x80) {
        this.at = at;
        return value;
      }
      unit *= 0x80;
    }
    throw new DecodeFault("proto: integer overflow");
  }

  /** The low 32 bits of a varint, as a signed number. */
  int32(): number {
    const start = this.at;
    const value = this.varint();
    return value <= 0xffff_ffff ? value | 0 : Number(BigInt.asIntN(32, this.exactly(start)));
  }

  /** A signed 64-bit varint; a bigint beyond 2^53. */
  int64(): number | bigint {
    const start = this.at;
    const value = this.varint();
    if (value <= Number.MAX_SAFE_INTEGER) return value;
    const exact = BigInt.asIntN(64, this.exactly(start));
    const number = Number(exact);
    return Number.isSafeInteger(number) ? number : exact;
  }

  /** Reads the varint from `start` to the position again, without rounding. */
  private exactly(start: number): bigint {
    let value = 0n;
    for (let at = this.at - 1; at >= start; at--) {
      value = (value << 7n) | BigInt((this.buffer[at] as number) & 0x7f);
    }
    return value;
  }

  /** The end of a length-delimited value; the position moves to its start. */
  delimited(): number {
    const length = this.varint();
    if (length >= 2 ** 63) {
      throw new DecodeFault("proto: negative length found during unmarshaling");
    }
    if (length > this.end - this.at) throw truncated();
    return this.at + length;
  }

  double(): number {
    if (this.end - this.at < 8) throw truncated();
    const value = this.buffer.readDoubleLE(this.at);
    this.at += 8;
    return value;
  }

  string(): string {
    const stop = this.delimited();
    const { buffer, at: start } = this;
    this.at = stop;
    if (stop - start > shortLength) return buffer.toString("utf8", start, stop);
    let text = "";
    for (let at = start; at < stop; at++) {
      const byte = buffer[at] as number;
      if (byte > 0x7f) return buffer.toString("utf8", start, stop);
      text += String.fromCharCode(byte);
    }
    return text;
  }

  base64(): string {
    const stop = this.delimited();
    const text = this.buffer.toString("base64", this.at, stop);
    this.at = stop;
    return text;
  }

  /** A length-delimited value: a view, not a copy. */
  view(): Buffer {
    const stop = this.delimited();
    const view = this.buffer.subarray(this.at, stop);
    this.at = stop;
    return view;
  }

  /** Skips the value of the current field. */
  skip(wireType = this.wireType): void {
    if (wireType === varint) this.varint();
    else if (wireType === delimited) this.at = this.delimited();
    else if (wireType === fixed64) this.advance(8);
    else if (wireType === fixed32) this.advance(4);
    else if (wireType === startGroup) this.skipGroup();
    else if (wireType === endGroup) throw new DecodeFault("proto: unexpected end of group");
    else throw new DecodeFault(`proto: illegal wireType ${wireType}`);
  }

  /** Skips a group up to its end tag; nested groups are counted, without recursion. */
  private skipGroup(): void {
    let open = 1;
    while (open > 0) {
      const wireType = this.varint() & 7;
      if (wireType === startGroup) open++;
      else if (wireType === endGroup) open--;
      else this.skip(wireType);
    }
  }

  private advance(bytes: number): void {
    if (this.end - this.at < bytes) throw truncated();
    this.at += bytes;
  }
}

/** Length up to which ASCII is decoded in JavaScript, which is faster than the native decoder. */
const shortLength = 12;

function truncated(): DecodeFault {
  return new DecodeFault("unexpected EOF");
}
