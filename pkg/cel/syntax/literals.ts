/** Values of literals: escapes in strings and bytes, numbers with their ranges. */
import { type Literal } from "./ast.ts";
import { type Token } from "./lexer.ts";

/** An invalid literal; the message is that of the compile error. */
export class LiteralFault extends Error {
  override readonly name = "LiteralFault";
}

const maxInt = 2n ** 63n - 1n;
const maxUint = 2n ** 64n - 1n;

const simpleEscapes: Readonly<Record<string, string>> = {
  a: "\u0007",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
  "\\": "\\",
  "'": "'",
  '"': '"',
  "`": "`",
  "?": "?",
};

/** The value of an int literal with its sign. */
export function intLiteral(text: string, negative: boolean): Literal {
  const value = negative ? -BigInt(text) : BigInt(text);
  if (value > maxInt || value < -maxInt - 1n) {
    throw new LiteralFault("invalid int literal");
  }
  return { type: "int", value };
}

/** The value of any other literal token. */
export function literalOf(token: Token): Literal {
  switch (token.kind) {
    case "int":
      return intLiteral(token.text, false);
    case "uint": {
      const value = BigInt(token.text.slice(0, -1));
      if (value > maxUint) throw new LiteralFault("invalid uint literal");
      return { type: "uint", value };
    }
    case "float":
      return doubleLiteral(token.text, false);
    case "string":
      return { type: "string", value: stringBody(token.text) };
    case "bytes":
      return { type: "bytes", value: bytesBody(token.text.slice(1)) };
    default:
      return token.text === "null"
        ? { type: "null" }
        : { type: "bool", value: token.text === "true" };
  }
}

export function doubleLiteral(text: string, negative: boolean): Literal {
  const value = Number(text);
  if (!Number.isFinite(value)) throw new LiteralFault("invalid double literal");
  return { type: "double", value: negative ? -value : value };
}

interface Unquoted {
  readonly body: string;
  readonly raw: boolean;
}

function unquote(text: string): Unquoted {
  const raw = /^[rR]/.test(text);
  const quoted = raw ? text.slice(1) : text;
  const width = /^(?:"""|''')/.test(quoted) && quoted.length >= 6 ? 3 : 1;
  const body = quoted.slice(width, -width).replaceAll("\r\n", "\n").replaceAll("\r", "\n");
  return { body, raw };
}

function stringBody(text: string): string {
  const { body, raw } = unquote(text);
  if (raw || !body.includes("\\")) return body;
  return unescape(body, {
    character: (character) => character,
    code: (code) => {
      if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) {
        throw new LiteralFault("invalid unicode code point");
      }
      return String.fromCodePoint(code);
    },
    wide: true,
  }).join("");
}

function bytesBody(text: string): Uint8Array {
  const { body, raw } = unquote(text);
  const encoder = new TextEncoder();
  if (raw || !body.includes("\\")) return encoder.encode(body);
  const parts = unescape(body, {
    character: (character) => [...encoder.encode(character)],
    code: (code) => [code],
    wide: false,
  });
  return Uint8Array.from(parts.flat());
}

interface EscapeMeaning<T> {
  readonly character: (character: string) => T;
  readonly code: (code: number) => T;
  /** Whether `\u` and `\U` are allowed; false for bytes. */
  readonly wide: boolean;
}

const hex = "[0-9a-fA-F]";
const escapes =
  `\\\\(?:([abfnrtv\\\\'"\`?])|([0-3][0-7]{2})|` +
  `[xX](${hex}{2})|u(${hex}{4})|U(${hex}{8}))|[^\\\\]`;

function unescape<T>(body: string, meaning: EscapeMeaning<T>): T[] {
  const parts: T[] = [];
  const pattern = new RegExp(escapes, "uy");
  let at = 0;
  while (at < body.length) {
    pattern.lastIndex = at;
    const found = pattern.exec(body);
    if (found === null) throw new LiteralFault(`unable to unescape string`);
    const [whole, simple, octal, hex, short, long] = found;
    at += whole.length;
    const wideCode = short ?? long;
    if (wideCode !== undefined && !meaning.wide) {
      throw new LiteralFault("unable to unescape string");
    }
    if (simple !== undefined) parts.push(meaning.character(simpleEscapes[simple] ?? simple));
    else if (octal !== undefined) parts.push(meaning.code(Number.parseInt(octal, 8)));
    else if (hex !== undefined) parts.push(meaning.code(Number.parseInt(hex, 16)));
    else if (wideCode !== undefined) parts.push(meaning.code(Number.parseInt(wideCode, 16)));
    else parts.push(meaning.character(whole));
  }
  return parts;
}
