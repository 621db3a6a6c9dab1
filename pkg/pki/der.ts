/** DER, the encoding of certificates (ITU-T X.690). */

/** An encoded value: tag, length, content. */
export type Der = Buffer;

const universal = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  null: 0x05,
  objectIdentifier: 0x06,
  utf8String: 0x0c,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const;

const contextPrimitive = 0x80;
const contextConstructed = 0xa0;
/** Minimum length in long form, and its marker bit in the byte count. */
const longLength = 0x80;

function encode(tag: number, ...content: readonly Uint8Array[]): Der {
  const size = content.reduce((sum, { length }) => sum + length, 0);
  return Buffer.concat([Buffer.from([tag, ...lengthBytes(size)]), ...content]);
}

function lengthBytes(length: number): readonly number[] {
  if (length < longLength) return [length];
  const bytes = base256(length);
  return [longLength | bytes.length, ...bytes];
}

function base256(value: number): readonly number[] {
  return value < 256 ? [value] : [...base256(Math.floor(value / 256)), value % 256];
}

export function sequence(...members: readonly Der[]): Der {
  return encode(universal.sequence, ...members);
}

/** A SET of one member; several would have to be sorted. */
export function setOf(member: Der): Der {
  return encode(universal.set, member);
}

export function boolean(value: boolean): Der {
  return encode(universal.boolean, Buffer.from([value ? 0xff : 0]));
}

/** A non-negative INTEGER from big-endian bytes without leading zeros. */
export function positiveInteger(bytes: Uint8Array): Der {
  const sign = (bytes[0] ?? 0) < 0x80 ? [] : [0];
  return encode(universal.integer, Buffer.from(sign), bytes);
}

export function octetString(bytes: Uint8Array): Der {
  return encode(universal.octetString, bytes);
}

/** A BIT STRING; `unused` = number of unused bits in the last byte. */
export function bitString(bytes: Uint8Array, unused = 0): Der {
  return encode(universal.bitString, Buffer.from([unused]), bytes);
}

/** A named bit list: most significant bit first, without trailing zeros. */
export function namedBits(bits: readonly number[]): Der {
  const last = Math.max(...bits);
  const bytes = Buffer.alloc(Math.floor(last / 8) + 1);
  for (const bit of bits) bytes[bit >> 3]! |= 0x80 >> (bit & 7);
  return bitString(bytes, 7 - (last & 7));
}

export function nullValue(): Der {
  return encode(universal.null);
}

/** An OBJECT IDENTIFIER from its dotted form. */
export function objectIdentifier(dotted: string): Der {
  const [first = 0, second = 0, ...others] = dotted.split(".").map(Number);
  return encode(
    universal.objectIdentifier,
    Buffer.from([first * 40 + second, ...others.flatMap((arc) => base128(arc))]),
  );
}

/** Base 128: seven bits per byte; all bytes except the last have the high bit set. */
function base128(value: number): readonly number[] {
  const bytes = [value & 0x7f];
  for (let rest = value >>> 7; rest > 0; rest >>>= 7) bytes.unshift(0x80 | (rest & 0x7f));
  return bytes;
}

export function utf8String(text: string): Der {
  return encode(universal.utf8String, Buffer.from(text));
}

/** UTCTime until 2049, GeneralizedTime from then on (RFC 5280, section 4.1.2.5). */
export function time(milliseconds: number): Der {
  const text = `${new Date(milliseconds).toISOString().slice(0, 19).replaceAll(/[-:T]/g, "")}Z`;
  return text < "2050"
    ? encode(universal.utcTime, Buffer.from(text.slice(2)))
    : encode(universal.generalizedTime, Buffer.from(text));
}

/** An explicitly tagged value: `[number] EXPLICIT`. */
export function explicit(number: number, member: Der): Der {
  return encode(contextConstructed | number, member);
}

/** An implicitly tagged primitive value: `[number] IMPLICIT`. */
export function implicit(number: number, content: Uint8Array): Der {
  return encode(contextPrimitive | number, content);
}

/** An encoding that is not well-formed. */
export class DerFault extends Error {
  override readonly name = "DerFault";
}

/** Members of a constructed value. @throws DerFault */
export function membersOf(value: Der): readonly Der[] {
  const members: Der[] = [];
  for (let rest = contentOf(value); rest.length > 0;) {
    const { start, size } = headerOf(rest);
    members.push(rest.subarray(0, start + size));
    rest = rest.subarray(start + size);
  }
  return members;
}

/** Content of a value. @throws DerFault */
export function contentOf(value: Der): Buffer {
  const { start, size } = headerOf(value);
  return value.subarray(start, start + size);
}

/** Members of a SEQUENCE that is the whole value. @throws DerFault */
export function sequenceOf(value: Der): readonly Der[] {
  if (value[0] !== universal.sequence) throw new DerFault("expected a SEQUENCE");
  const { start, size } = headerOf(value);
  if (start + size !== value.length) throw new DerFault("data after a SEQUENCE");
  return membersOf(value);
}

/** Whether a member is `[number] EXPLICIT`. */
export function isExplicit(value: Der, number: number): boolean {
  return value[0] === (contextConstructed | number);
}

/** Number of a context-specific tag; undefined for a universal one. */
export function contextTagOf(value: Der): number | undefined {
  const [tag = 0] = value;
  return (tag & 0xc0) === contextPrimitive ? tag & 0x1f : undefined;
}

/** The value of a BOOLEAN; undefined for a value of another type. */
export function booleanOf(value: Der | undefined): boolean | undefined {
  return value?.[0] === universal.boolean ? contentOf(value)[0] !== 0 : undefined;
}

/** The value of an INTEGER below 2^31; undefined for a value of another type. @throws DerFault */
export function smallIntegerOf(value: Der | undefined): number | undefined {
  if (value?.[0] !== universal.integer) return undefined;
  const bytes = contentOf(value);
  if (bytes.length === 0 || bytes.length > 4) throw new DerFault("INTEGER out of range");
  return bytes.readIntBE(0, bytes.length);
}

/** Dotted form of an OBJECT IDENTIFIER. @throws DerFault */
export function dottedIdentifierOf(value: Der | undefined): string {
  if (value?.[0] !== universal.objectIdentifier) throw new DerFault("expected an identifier");
  const arcs: bigint[] = [];
  let arc = 0n;
  for (const byte of contentOf(value)) {
    arc = (arc << 7n) | BigInt(byte & 0x7f);
    if ((byte & 0x80) !== 0) continue;
    arcs.push(arc);
    arc = 0n;
  }
  const [first = 0n, ...others] = arcs;
  const root = first < 80n ? first / 40n : 2n;
  return [root, first - root * 40n, ...others].join(".");
}

/** @throws DerFault for a value that is longer than the buffer, or has a tag of several bytes */
function headerOf(value: Der): { readonly start: number; readonly size: number } {
  const first = value[1] ?? 0;
  const count = first < longLength ? 0 : first & 0x7f;
  const start = 2 + count;
  const isUnsupported = count > 4 || first === longLength || ((value[0] ?? 0) & 0x1f) === 0x1f;
  if (isUnsupported || value.length < start) throw new DerFault("malformed header");
  const size = count === 0 ? first : value.readUIntBE(2, count);
  if (value.length < start + size) throw new DerFault("truncated value");
  return { start, size };
}
