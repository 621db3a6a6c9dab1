/**
 * Protobuf as far as etcd's messages need it. Written by hand: these few messages are read and
 * written for every request, and a general library spends more on them than everything around it.
 */

/** Wire types. A tag is the number of the field times eight, plus one of these. */
const NUMBER = 0;
const FIXED64 = 1;
const DELIMITED = 2;
const FIXED32 = 5;
/** The longest tag and the longest number. */
const ROOM = 20;

/** Collects one message; fields are written in the order of the calls. */
export class WireWriter {
  #bytes: Buffer;
  #at = 0;

  /** `capacity` in bytes; it grows. */
  constructor(capacity = 256) {
    this.#bytes = Buffer.allocUnsafe(capacity);
  }

  /** A number that is no negative one; 0 is left out, as proto3 has it. */
  number(field: number, value: number | bigint): this {
    return value === 0 || value === 0n ? this : this.choice(field, value);
  }

  /** A number that is there also when it is 0, as one of several alternatives. */
  choice(field: number, value: number | bigint): this {
    this.#reserve(ROOM);
    this.#varint(field * 8 + NUMBER);
    if (typeof value === "number") this.#varint(value);
    else this.#bigVarint(value);
    return this;
  }

  flag(field: number, value: boolean): this {
    return this.number(field, value ? 1 : 0);
  }

  /** Empty ones are left out. */
  bytes(field: number, value: Uint8Array): this {
    return value.byteLength === 0 ? this : this.#delimited(field, value);
  }

  /** Empty ones are left out. */
  text(field: number, value: string): this {
    const length = Buffer.byteLength(value);
    if (length === 0) return this;
    this.#begin(field, length);
    this.#at += this.#bytes.write(value, this.#at);
    return this;
  }

  /** A message inside; an empty one is written, too. */
  message(field: number, inner: WireWriter): this {
    return this.#delimited(field, inner.finish());
  }

  finish(): Buffer {
    return this.#bytes.subarray(0, this.#at);
  }

  #delimited(field: number, value: Uint8Array): this {
    this.#begin(field, value.byteLength);
    this.#bytes.set(value, this.#at);
    this.#at += value.byteLength;
    return this;
  }

  /** What comes before so many bytes; there is room for them then. */
  #begin(field: number, length: number): void {
    this.#reserve(length + ROOM);
    this.#varint(field * 8 + DELIMITED);
    this.#varint(length);
  }

  #varint(value: number): void {
    let rest = value;
    while (rest >= 0x80) {
      this.#bytes[this.#at++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    this.#bytes[this.#at++] = rest;
  }

  #bigVarint(value: bigint): void {
    let rest = BigInt.asUintN(64, value);
    while (rest >= 0x80n) {
      this.#bytes[this.#at++] = Number(rest & 0x7fn) | 0x80;
      rest >>= 7n;
    }
    this.#bytes[this.#at++] = Number(rest);
  }

  #reserve(size: number): void {
    if (this.#at + size <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.#at + size));
    this.#bytes.copy(larger, 0, 0, this.#at);
    this.#bytes = larger;
  }
}

/** Walks over the fields of one message. Throws WireError for bytes that are none. */
export class WireReader {
  /** The field that `next` found. */
  field = 0;
  readonly #bytes: Buffer;
  readonly #end: number;
  #at: number;
  #type = 0;

  constructor(bytes: Buffer, start = 0, end = bytes.length) {
    this.#bytes = bytes;
    this.#at = start;
    this.#end = end;
  }

  /** Goes to the next field; false at the end. The value must then be read or skipped. */
  next(): boolean {
    if (this.#at >= this.#end) return false;
    const tag = this.#varint();
    this.field = Math.floor(tag / 8);
    this.#type = tag % 8;
    return true;
  }

  /** Exact below 2^53. */
  number(): number {
    this.#expect(NUMBER);
    return this.#varint();
  }

  /** A view, not a copy. */
  bytes(): Buffer {
    const start = this.#delimited();
    return this.#bytes.subarray(start, this.#at);
  }

  text(): string {
    const start = this.#delimited();
    return this.#bytes.toString("utf8", start, this.#at);
  }

  message(): WireReader {
    const start = this.#delimited();
    return new WireReader(this.#bytes, start, this.#at);
  }

  /** Passes over the value of a field that nobody wants. */
  skip(): void {
    if (this.#type === NUMBER) this.#varint();
    else if (this.#type === DELIMITED) this.#delimited();
    else if (this.#type === FIXED64) this.#at += 8;
    else if (this.#type === FIXED32) this.#at += 4;
    else throw new WireError();
  }

  /** Goes behind a value with a length; answers where it starts. */
  #delimited(): number {
    this.#expect(DELIMITED);
    const length = this.#varint();
    const start = this.#at;
    if (start + length > this.#end) throw new WireError();
    this.#at = start + length;
    return start;
  }

  #expect(type: number): void {
    if (this.#type !== type) throw new WireError();
  }

  #varint(): number {
    let value = 0;
    for (let factor = 1; ; factor *= 0x80) {
      const byte = this.#byte();
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
    }
  }

  #byte(): number {
    if (this.#at >= this.#end) throw new WireError();
    return this.#bytes[this.#at++]!;
  }
}

/** Bytes that are no message. */
export class WireError extends Error {
  override readonly name = "WireError";
  constructor() {
    super("etcd answered with bytes that are no message");
  }
}
