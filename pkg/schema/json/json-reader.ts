import { JsonFault } from "../fault/faults.ts";

/** Tokenizer of JSON with the error messages of Go's encoding/json. */
export class JsonReader {
  private at = 0;

  constructor(private readonly text: string) {}

  /** The next unit that is not white space. @throws JsonFault at the end of the text */
  peek(): number {
    const { text } = this;
    for (; this.at < text.length; this.at++) {
      const unit = text.charCodeAt(this.at);
      if (unit !== 0x20 && unit !== 0x0a && unit !== 0x0d && unit !== 0x09) return unit;
    }
    throw this.incomplete();
  }

  skip(): void {
    this.at++;
  }

  expectEnd(): void {
    const rest = /[^ \n\r\t]/g;
    rest.lastIndex = this.at;
    const found = rest.exec(this.text);
    if (found === null) return;
    this.at = found.index;
    throw this.unexpected("after top-level value");
  }

  /** `invalid character 'x' <where>` for the current unit. */
  unexpected(where: string): JsonFault {
    return new JsonFault(`invalid character ${quotedByte(this.text, this.at)} ${where}`);
  }

  string(): string {
    const { text } = this;
    let start = ++this.at;
    let read = "";
    for (; this.at < text.length; this.at++) {
      const unit = text.charCodeAt(this.at);
      if (unit === 0x22) {
        read += text.slice(start, this.at++);
        return wellFormed(read);
      }
      if (unit < 0x20) throw this.unexpected("in string literal");
      if (unit !== 0x5c) continue;
      read += text.slice(start, this.at++);
      read += this.escape();
      start = this.at + 1;
    }
    throw this.incomplete();
  }

  /** Ends on the last unit of the escape. */
  private escape(): string {
    const { text } = this;
    const letter = this.inside("in string escape code");
    const simple = simpleEscapes.indexOf(letter);
    if (simple >= 0) return escaped.charAt(simple);
    if (letter !== "u") throw this.unexpected("in string escape code");
    const digits = text.slice(this.at + 1, this.at + 5);
    if (/^[0-9a-fA-F]{4}$/.test(digits)) {
      this.at += 4;
      return String.fromCharCode(parseInt(digits, 16));
    }
    for (;;) {
      this.at++;
      const where = "in \\u hexadecimal character escape";
      if (!/[0-9a-fA-F]/.test(this.inside(where))) throw this.unexpected(where);
    }
  }

  /** The literal of a number. */
  number(): string {
    const start = this.at;
    const { text } = this;
    if (text[this.at] === "-") this.at++;
    if (text[this.at] === "0") this.at++;
    else this.digits("in numeric literal");
    if (text[this.at] === ".") {
      this.at++;
      this.digits("after decimal point in numeric literal");
    }
    if (text[this.at] === "e" || text[this.at] === "E") {
      this.at++;
      if (text[this.at] === "+" || text[this.at] === "-") this.at++;
      this.digits("in exponent of numeric literal");
    }
    return text.slice(start, this.at);
  }

  private digits(where: string): void {
    if (!isDigit(this.inside(where).charCodeAt(0))) throw this.unexpected(where);
    while (isDigit(this.text.charCodeAt(this.at))) this.at++;
  }

  /** `true`, `false` or `null`. */
  word(): boolean | null {
    const { text } = this;
    const word = ["true", "false", "null"].find((known) => known[0] === text[this.at]);
    if (word === undefined) throw this.unexpected("looking for beginning of value");
    for (let index = 1; index < word.length; index++) {
      this.at++;
      const where = `in literal ${word} (expecting '${word[index]}')`;
      if (this.inside(where) !== word[index]) throw this.unexpected(where);
    }
    this.at++;
    return word === "null" ? null : word === "true";
  }

  /** The current unit within a token. Go reports the end of the text there as a space. */
  private inside(where: string): string {
    if (this.at < this.text.length) return this.text.charAt(this.at);
    throw new JsonFault(`invalid character ' ' ${where}`);
  }

  private incomplete(): JsonFault {
    return new JsonFault("unexpected end of JSON input");
  }
}

function isDigit(unit: number): boolean {
  return unit >= 0x30 && unit <= 0x39;
}

/** Replaces lone surrogates by U+FFFD, as Go does. */
function wellFormed(text: string): string {
  return /[\ud800-\udfff]/.test(text) ? Buffer.from(text).toString() : text;
}

const simpleEscapes = '"\\/bfnrt';
const escaped = '"\\/\b\f\n\r\t';

/** The first UTF-8 byte of the character, quoted as the character of that code, as in Go's messages. */
function quotedByte(text: string, at: number): string {
  const byte = Buffer.from(String.fromCodePoint(text.codePointAt(at) ?? 0))[0] ?? 0;
  if (byte === 0x27) return "'\\''";
  if (byte === 0x22) return "'\"'";
  const named = namedControls.get(byte);
  if (named !== undefined) return `'${named}'`;
  if (byte < 0x20 || byte === 0x7f) return `'\\x${byte.toString(16).padStart(2, "0")}'`;
  const isPrintable = byte < 0x7f || (byte > 0xa0 && byte !== 0xad);
  return isPrintable ? `'${String.fromCharCode(byte)}'` : `'\\u00${byte.toString(16)}'`;
}

const namedControls: ReadonlyMap<number, string> = new Map([
  [0x07, "\\a"],
  [0x08, "\\b"],
  [0x09, "\\t"],
  [0x0a, "\\n"],
  [0x0b, "\\v"],
  [0x0c, "\\f"],
  [0x0d, "\\r"],
  [0x5c, "\\\\"],
]);
