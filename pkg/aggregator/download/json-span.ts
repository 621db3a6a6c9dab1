/**
 * Lazy reading of untrusted JSON documents: a scan in slices locates the members of an object, and
 * only those needed are parsed. No single step blocks the event loop for more than about 20 ms.
 */
import { yieldEvery, parseJsonText } from "#base";
import { parseExactJson } from "#schema";

/** Maximum nesting depth of a value. */
const maxDepth = 256;
/** Members of one object, or elements of one array. */
const maxMembers = 100_000;
const maxKeyBytes = 4_096;
/** Maximum size of a value that is parsed at once; 2 MB take about 20 ms. */
const maxValueBytes = 2 * 1024 * 1024;
/** Bytes that are scanned between checks whether to yield. */
const sliceBytes = 64 * 1024;

/** The document is malformed, or exceeds a limit. */
export class JsonSpanError extends Error {
  override readonly name = "JsonSpanError";
}

const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;
const backslash = 0x5c;
const [openBracket, closeBracket, openBrace, closeBrace] = [0x5b, 0x5d, 0x7b, 0x7d];

/** The byte range of one value in a document. */
export class JsonSpan {
  private constructor(
    private readonly bytes: Buffer,
    private readonly start: number,
    private readonly end: number,
  ) {}

  static of(bytes: Buffer): JsonSpan {
    // Skips the UTF-8 byte order mark.
    const hasMark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
    return new JsonSpan(bytes, hasMark ? 3 : 0, bytes.length);
  }

  /** Size in bytes. */
  get size(): number {
    return this.end - this.start;
  }

  /**
   * Parses the value.
   * @throws JsonSpanError if it is too large, too deeply nested, or malformed
   */
  parse(): unknown {
    if (this.size > maxValueBytes) {
      throw new JsonSpanError(`a value is larger than ${maxValueBytes} bytes`);
    }
    const scan = new Scan(this.bytes, this.start, this.end);
    while (!scan.skipValue(this.end));
    try {
      return parseExactJson(this.bytes.toString("utf8", this.start, this.end));
    } catch (error) {
      throw new JsonSpanError((error as Error).message);
    }
  }

  /**
   * The members of an object; of duplicate names the last wins. Empty for null.
   * @throws JsonSpanError if the value is not an object, or exceeds a limit
   */
  async members(): Promise<ReadonlyMap<string, JsonSpan>> {
    const found = new Map<string, JsonSpan>();
    for await (const { key, value } of this.children(openBrace, closeBrace)) found.set(key, value);
    return found;
  }

  /**
   * The elements of an array. Empty for null.
   * @throws JsonSpanError if the value is not an array, or exceeds a limit
   */
  async elements(): Promise<readonly JsonSpan[]> {
    const found: JsonSpan[] = [];
    for await (const { value } of this.children(openBracket, closeBracket)) found.push(value);
    return found;
  }

  private async *children(open: number, close: number) {
    const { bytes, end } = this;
    const maybeYield = yieldEvery();
    const scan = new Scan(bytes, this.start, end);
    if (scan.skipNull()) return;
    scan.expect(open);
    if (scan.accept(close)) return;
    for (let count = 1; ; count++) {
      if (count > maxMembers) throw new JsonSpanError(`more than ${maxMembers} members`);
      const key = open === openBrace ? scan.key() : "";
      const from = scan.valueStart();
      while (!scan.skipValue(scan.position + sliceBytes)) await maybeYield();
      yield { key, value: new JsonSpan(bytes, from, scan.position) };
      await maybeYield();
      if (scan.accept(close)) return;
      scan.expect(comma);
    }
  }
}

/** Scanner state: the position in the document, and the nesting at that position. */
class Scan {
  private depth = 0;
  private inString = false;

  constructor(
    private readonly bytes: Buffer,
    public position: number,
    private readonly end: number,
  ) {}

  accept(byte: number): boolean {
    this.skipSpace();
    if (this.position >= this.end || this.bytes[this.position] !== byte) return false;
    this.position += 1;
    return true;
  }

  expect(byte: number): void {
    if (this.accept(byte)) return;
    const found = this.position < this.end ? "unexpected character" : "unexpected end";
    throw new JsonSpanError(`${found} at byte ${this.position}`);
  }

  skipNull(): boolean {
    this.skipSpace();
    return this.bytes.toString("latin1", this.position, this.position + 4) === "null";
  }

  valueStart(): number {
    this.skipSpace();
    return this.position;
  }

  /** Reads the name of a member and the colon after it. */
  key(): string {
    this.expect(quote);
    const start = this.position - 1;
    for (;;) {
      const byte = this.bytes[this.position];
      if (this.position >= this.end || this.position - start > maxKeyBytes) {
        throw new JsonSpanError(`a name does not end within ${maxKeyBytes} bytes`);
      }
      this.position += byte === backslash ? 2 : 1;
      if (byte === quote) break;
    }
    const text = this.bytes.toString("utf8", start, this.position);
    this.expect(colon);
    try {
      return parseJsonText(text) as string;
    } catch (error) {
      throw new JsonSpanError((error as Error).message);
    }
  }

  /** Scans up to `sliceEnd`; returns whether the end of the value was reached. */
  skipValue(sliceEnd: number): boolean {
    const { bytes, end } = this;
    const stop = Math.min(sliceEnd, end);
    let { position, depth, inString } = this;
    let isOver = false;
    while (position < stop && !isOver) {
      const byte = bytes[position]!;
      if (inString) {
        if (byte === backslash) position += 1;
        else if (byte === quote) inString = false;
      } else if (byte === quote) inString = true;
      else if (byte === openBrace || byte === openBracket) {
        depth += 1;
        if (depth > maxDepth) throw new JsonSpanError(`nested deeper than ${maxDepth} levels`);
      } else if (byte === closeBrace || byte === closeBracket) {
        isOver = depth === 0;
        depth -= 1;
      } else if (byte === comma) isOver = depth === 0;
      if (!isOver) position += 1;
    }
    Object.assign(this, { position, depth, inString });
    if (isOver) this.depth = 0;
    if (!isOver && position >= end && (inString || depth > 0)) {
      throw new JsonSpanError("unexpected end");
    }
    return isOver || position >= end;
  }

  private skipSpace(): void {
    const { bytes, end, position: start } = this;
    while (this.position < end && isSpace(bytes[this.position]!)) {
      this.position += 1;
      if (this.position > start + sliceBytes) {
        throw new JsonSpanError(`more than ${sliceBytes} bytes of white space`);
      }
    }
  }
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}
