/** Decoder of ASN.1 DER (X.690), as far as certificate requests need it. */

export interface Element {
  readonly tag: number;
  /** Content without tag and length. */
  readonly content: Uint8Array;
  /** Complete encoding with tag and length; signatures cover it. */
  readonly whole: Uint8Array;
}

export const tags = { bitString: 3, objectId: 6, sequence: 0x30, set: 0x31 } as const;

/** The element at the start of `bytes`; undefined if it is truncated or not valid DER. */
export function readElement(bytes: Uint8Array): Element | undefined {
  const [tag, first] = bytes;
  if (tag === undefined || first === undefined || (tag & 31) === 31) return undefined;
  let length = first;
  let start = 2;
  if (first >= 0x80) {
    const count = first & 0x7f;
    if (count === 0 || count > 4) return undefined;
    length = 0;
    for (const byte of bytes.subarray(2, 2 + count)) length = length * 256 + byte;
    start += count;
    if (length < 0x80) return undefined;
  }
  const end = start + length;
  if (end > bytes.length) return undefined;
  return { tag, content: bytes.subarray(start, end), whole: bytes.subarray(0, end) };
}

/** All DER elements of `bytes`; undefined if there are trailing bytes. */
export function readElements(bytes: Uint8Array): readonly Element[] | undefined {
  const elements: Element[] = [];
  for (let rest = bytes; rest.length > 0;) {
    const element = readElement(rest);
    if (element === undefined) return undefined;
    elements.push(element);
    rest = rest.subarray(element.whole.length);
  }
  return elements;
}
