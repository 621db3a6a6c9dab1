/**
 * Header blocks of HTTP/2 without a dynamic table (RFC 7541): a connection that announces a header
 * table of 0 bytes decodes each block on its own.
 */

export type Headers = ReadonlyMap<string, string>;

/** A header block breaks the rules of HPACK; the connection is of no further use. */
export class HpackFault extends Error {
  override readonly name = "HpackFault";
}

/** Fields of the static table. */
const staticFields = 61;
const longestString = 64 * 1024;

/** A block of literal fields, which go into no table. Names and values are printable ASCII. */
export function encodeHeaders(fields: readonly (readonly [string, string])[]): Buffer {
  const parts = fields.flatMap(([name, value]) => [Buffer.of(0), text(name), text(value)]);
  return Buffer.concat(parts);
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value, "latin1");
  const { length } = bytes;
  if (length < 127) return Buffer.concat([Buffer.of(length), bytes]);
  const rest: number[] = [];
  for (let left = length - 127; ; left >>>= 7) {
    rest.push(left >= 128 ? (left & 127) | 128 : left);
    if (left < 128) return Buffer.concat([Buffer.of(127, ...rest), bytes]);
  }
}

/**
 * Fields whose names the block spells out. Those named by the static table are skipped: none of
 * gRPC's own is among them.
 * @throws HpackFault
 */
export function decodeHeaders(block: Buffer): Headers {
  const headers = new Map<string, string>();
  const reader = new BlockReader(block);
  while (!reader.done) {
    const first = reader.peek();
    if (first >= 0x80) reader.index(7);
    else if (first >= 0x20 && first < 0x40) reader.tableSize();
    else {
      const isNamed = reader.index(first >= 0x40 ? 6 : 4) === 0;
      const name = isNamed ? reader.string() : undefined;
      const value = reader.string();
      if (name !== undefined) headers.set(name, value);
    }
  }
  return headers;
}

class BlockReader {
  #at = 0;

  constructor(private readonly bytes: Buffer) {}

  get done(): boolean {
    return this.#at >= this.bytes.length;
  }

  peek(): number {
    return this.bytes[this.#at]!;
  }

  /** An index into the static table; 0 = none. */
  index(prefixBits: number): number {
    const index = this.#integer(prefixBits);
    if (index > staticFields) throw new HpackFault("a field of the dynamic table");
    return index;
  }

  tableSize(): void {
    if (this.#integer(5) !== 0) throw new HpackFault("a dynamic table");
  }

  string(): string {
    const isHuffman = (this.#byte(this.#at) & 0x80) !== 0;
    const length = this.#integer(7);
    const end = this.#at + length;
    if (length > longestString || end > this.bytes.length) throw new HpackFault("a cut string");
    const value = isHuffman
      ? decodeHuffman(this.bytes.subarray(this.#at, end))
      : this.bytes.toString("latin1", this.#at, end);
    this.#at = end;
    return value;
  }

  /** Of at most four bytes, which is more than any length or index here. */
  #integer(prefixBits: number): number {
    const most = 2 ** prefixBits - 1;
    let value = this.#byte(this.#at++) & most;
    if (value < most) return value;
    for (let shift = 0; shift <= 14; shift += 7) {
      const byte = this.#byte(this.#at++);
      value += (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw new HpackFault("a long number");
  }

  #byte(at: number): number {
    const byte = this.bytes[at];
    if (byte === undefined) throw new HpackFault("a cut field");
    return byte;
  }
}

/**
 * Length in bits of the Huffman code of each byte, in base 36 (RFC 7541, Appendix B). The code is
 * canonical: shorter codes come first, and codes of one length in the order of their bytes.
 */
const codeLengths =
  "dnsssssssoussussssssssusssssssss6aacd68baa8b8666555666666678f6ca" +
  "d67777777777777777777777878djde6f56565666577666567655677777fbeds" +
  "kmkkmmmnmnnnnnonoomnonnnnlmnmnnomlkmmnnlnmmolmnnllmlnmnnkmmmnmmn" +
  "qqkjmnmpqqqrrqopjlqrrqrollqqsrrrkoklmllnmmppooqnqrqqrrrrrsrrrrrq";
const longestCode = 30;

/** The bytes of each length of code, in order. */
const bytesByLength: readonly (readonly number[])[] = Array.from({ length: longestCode }, (_, n) =>
  Array.from({ length: 256 }, (_each, byte) => byte).filter((byte) => lengthOfCode(byte) === n),
);

function lengthOfCode(byte: number): number {
  return Number.parseInt(codeLengths[byte]!, 36);
}

/** The padding behind the last code is the begin of a code that is longer, and is dropped. */
function decodeHuffman(bytes: Buffer): string {
  const decoded: number[] = [];
  // `code` of `length` bits is read; `first` is the first code of that length.
  let [code, length, first] = [0, 0, 0];
  for (const byte of bytes) {
    for (let bit = 7; bit >= 0; bit--) {
      code = code * 2 + ((byte >> bit) & 1);
      first *= 2;
      length += 1;
      const sameLength = bytesByLength[length];
      if (sameLength === undefined) throw new HpackFault("an end of string inside a string");
      const found = sameLength[code - first];
      first += sameLength.length;
      if (found === undefined) continue;
      decoded.push(found);
      [code, length, first] = [0, 0, 0];
    }
  }
  return Buffer.from(decoded).toString("latin1");
}
