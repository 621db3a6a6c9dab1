/**
 * HPACK (RFC 7541) without a dynamic table: the connection announces a header table size of 0, so that
 * header blocks are independent of each other.
 */

export type Headers = ReadonlyMap<string, string>;

/** An invalid header block, which is a connection error. */
export class HpackFault extends Error {
  override readonly name = "HpackFault";
}

/** Number of fields in the static table. */
const staticFields = 61;
/** The `:status` fields of the static table, by index. */
const staticStatuses: ReadonlyMap<number, string> = new Map([
  [8, "200"],
  [9, "204"],
  [10, "206"],
  [11, "304"],
  [12, "400"],
  [13, "404"],
  [14, "500"],
]);
/** Names of the static table that are decoded, by index. */
const staticNames: ReadonlyMap<number, string> = new Map([
  ...[...staticStatuses.keys()].map((index) => [index, ":status"] as const),
  [53, "retry-after"],
]);
const maxStringLength = 64 * 1024;

/** Encodes literal fields without indexing. Names and values are printable ASCII. */
export function encodeHeaders(fields: readonly (readonly [string, string])[]): Buffer {
  const parts = fields.flatMap(([name, value]) => [
    Buffer.of(0),
    encodeString(name),
    encodeString(value),
  ]);
  return Buffer.concat(parts);
}

function encodeString(value: string): Buffer {
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
 * Decodes `:status`, `retry-after` and the fields with literal names, gRPC's among them. Other fields
 * whose names are in the static table are skipped.
 * @throws HpackFault
 */
export function decodeHeaders(block: Buffer): Headers {
  const headers = new Map<string, string>();
  const reader = new BlockReader(block);
  while (!reader.done) {
    const first = reader.peek();
    if (first >= 0x80) {
      const status = staticStatuses.get(reader.index(7));
      if (status !== undefined) headers.set(":status", status);
    } else if (first >= 0x20 && first < 0x40) reader.tableSize();
    else {
      const index = reader.index(first >= 0x40 ? 6 : 4);
      const name = index === 0 ? reader.string() : staticNames.get(index);
      if (name === undefined) reader.skipString();
      else headers.set(name, reader.string());
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
    if (index > staticFields) throw new HpackFault("reference to the dynamic table");
    return index;
  }

  tableSize(): void {
    if (this.#integer(5) !== 0) throw new HpackFault("nonzero dynamic table size");
  }

  string(): string {
    const isHuffman = (this.#byte(this.#at) & 0x80) !== 0;
    const [start, end] = this.skipString();
    return isHuffman
      ? decodeHuffman(this.bytes.subarray(start, end))
      : this.bytes.toString("latin1", start, end);
  }

  /** Skips a string; returns where its bytes start and end. */
  skipString(): readonly [number, number] {
    const length = this.#integer(7);
    const start = this.#at;
    const end = start + length;
    if (length > maxStringLength || end > this.bytes.length)
      throw new HpackFault("truncated string");
    this.#at = end;
    return [start, end];
  }

  /** Reads an integer of at most four bytes. */
  #integer(prefixBits: number): number {
    const most = 2 ** prefixBits - 1;
    let value = this.#byte(this.#at++) & most;
    if (value < most) return value;
    for (let shift = 0; shift <= 14; shift += 7) {
      const byte = this.#byte(this.#at++);
      value += (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw new HpackFault("integer overflow");
  }

  #byte(at: number): number {
    const byte = this.bytes[at];
    if (byte === undefined) throw new HpackFault("truncated field");
    return byte;
  }
}

/**
 * Lengths in bits of the Huffman codes of all bytes, in base 36 (RFC 7541, Appendix B). The code is
 * canonical: codes are ordered by length, then by byte.
 */
const codeLengths =
  "dnsssssssoussussssssssusssssssss6aacd68baa8b8666555666666678f6ca" +
  "d67777777777777777777777878djde6f56565666577666567655677777fbeds" +
  "kmkkmmmnmnnnnnonoomnonnnnlmnmnnomlkmmnnlnmmolmnnllmlnmnnkmmmnmmn" +
  "qqkjmnmpqqqrrqopjlqrrqrollqqsrrrkoklmllnmmppooqnqrqqrrrrrsrrrrrq";
const maxCodeLength = 30;

/** The bytes by length of their codes, in order. */
const bytesByLength: readonly (readonly number[])[] = Array.from(
  { length: maxCodeLength },
  (_, n) =>
    Array.from({ length: 256 }, (_each, byte) => byte).filter((byte) => lengthOfCode(byte) === n),
);

function lengthOfCode(byte: number): number {
  return Number.parseInt(codeLengths[byte]!, 36);
}

/** Decodes a Huffman string; the padding is a prefix of a longer code and is dropped. */
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
      if (sameLength === undefined) throw new HpackFault("EOS symbol in a string");
      const symbol = sameLength[code - first];
      first += sameLength.length;
      if (symbol === undefined) continue;
      decoded.push(symbol);
      [code, length, first] = [0, 0, 0];
    }
  }
  return Buffer.from(decoded).toString("latin1");
}
