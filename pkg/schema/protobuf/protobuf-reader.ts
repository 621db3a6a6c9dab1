import { toBuffer } from "#base";
import { DecodeFault } from "../fault/faults.ts";

/**
 * Reads the primitives of the wire with Go's limits and Go's words: every length is checked against
 * what is there before anything is allocated. (protobufjs' own reader cuts a 64-bit length down to
 * 32 bits and has its own errors, so only its writer is used.)
 */
export class WireReader {
  readonly buffer: Buffer;
  at = 0;
  depth = 0;

  constructor(bytes: Uint8Array) {
    this.buffer = toBuffer(bytes);
  }

  /**
   * A varint of up to 64 bits whose value fits 32 bits unsigned; anything larger comes back as
   * larger.
   */
  varint(end: number): number {
    const { buffer } = this;
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
  int32(end: number): number {
    const start = this.at;
    const value = this.varint(end);
    return value <= 0xffff_ffff ? value | 0 : Number(BigInt.asIntN(32, this.exactly(start)));
  }

  /** All 64 bits of a varint, signed; a bigint only where a number would lose digits. */
  int64(end: number): number | bigint {
    const start = this.at;
    const value = this.varint(end);
    if (value <= Number.MAX_SAFE_INTEGER) return value;
    const exact = BigInt.asIntN(64, this.exactly(start));
    const number = Number(exact);
    return Number.isSafeInteger(number) ? number : exact;
  }

  /** The varint from `start` to the position once more, without rounding. */
  private exactly(start: number): bigint {
    let value = 0n;
    for (let at = this.at - 1; at >= start; at--) {
      value = (value << 7n) | BigInt((this.buffer[at] as number) & 0x7f);
    }
    return value;
  }

  /** The end of a length-delimited value; the position moves to its start. */
  delimited(end: number): number {
    const length = this.varint(end);
    if (length >= 2 ** 63) {
      throw new DecodeFault("proto: negative length found during unmarshaling");
    }
    if (length > end - this.at) throw truncated();
    return this.at + length;
  }

  double(end: number): number {
    if (end - this.at < 8) throw truncated();
    const value = this.buffer.readDoubleLE(this.at);
    this.at += 8;
    return value;
  }

  string(end: number): string {
    const stop = this.delimited(end);
    const { buffer, at: start } = this;
    this.at = stop;
    if (stop - start > SHORT) return buffer.toString("utf8", start, stop);
    let text = "";
    for (let at = start; at < stop; at++) {
      const byte = buffer[at] as number;
      if (byte > 0x7f) return buffer.toString("utf8", start, stop);
      text += String.fromCharCode(byte);
    }
    return text;
  }

  base64(end: number): string {
    const stop = this.delimited(end);
    const text = this.buffer.toString("base64", this.at, stop);
    this.at = stop;
    return text;
  }

  /** Passes over the value of an unknown field. */
  skip(wireType: number, end: number): void {
    if (wireType === 0) this.varint(end);
    else if (wireType === 2) this.at = this.delimited(end);
    else if (wireType === 1) this.advance(8, end);
    else if (wireType === 5) this.advance(4, end);
    else if (wireType === 3) this.skipGroup(end);
    else if (wireType === 4) throw new DecodeFault("proto: unexpected end of group");
    else throw new DecodeFault(`proto: illegal wireType ${wireType}`);
  }

  /** A group ends with its own end tag; groups inside it are counted, not recursed into. */
  private skipGroup(end: number): void {
    let open = 1;
    while (open > 0) {
      const wireType = this.varint(end) & 7;
      if (wireType === 3) open++;
      else if (wireType === 4) open--;
      else this.skip(wireType, end);
    }
  }

  private advance(bytes: number, end: number): void {
    if (end - this.at < bytes) throw truncated();
    this.at += bytes;
  }
}

/** Up to this length, putting ASCII together is cheaper than the call into the native decoder. */
const SHORT = 12;

function truncated(): DecodeFault {
  return new DecodeFault("unexpected EOF");
}
