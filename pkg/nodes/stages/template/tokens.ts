/** Splits a template into texts and the tokens of its actions. */
import { TemplateFault } from "./fault.ts";

export type Piece =
  | { readonly text: string }
  | { readonly tokens: readonly Token[]; readonly line: number };

export type TokenKind =
  | "space"
  | "word"
  | "field"
  | "variable"
  | "string"
  | "number"
  | "symbol"
  | "end";

export interface Token {
  readonly kind: TokenKind;
  /** The value of a string; `.a` is the field "a", `$a` the variable "a". */
  readonly text: string;
}

const patterns: readonly (readonly [TokenKind, RegExp])[] = [
  ["space", /\s+/y],
  ["field", /\.[\p{L}_][\p{L}\p{N}_]*/uy],
  ["variable", /\$[\p{L}\p{N}_]*/uy],
  ["number", /[+-]?(?:0[xX][0-9a-fA-F]+|\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?)/y],
  ["word", /[\p{L}_][\p{L}\p{N}_]*/uy],
  ["string", /"(?:[^"\\\n]|\\.)*"|`[^`]*`|'(?:[^'\\\n]|\\.)'/y],
  ["symbol", /:=|[=|().,]/y],
];

const comment = /(?:- )?\s*\/\*[^]*?\*\/\s*(?: -)?}}/y;

/** @throws TemplateFault for an action that is not closed or has a wrong character */
export function piecesOf(source: string): readonly Piece[] {
  const pieces: Piece[] = [];
  let trims = false;
  for (let at = 0; at < source.length;) {
    const open = source.indexOf("{{", at);
    const trimsBefore = open >= 0 && /^-\s/.test(source.slice(open + 2, open + 4));
    let text = source.slice(at, open < 0 ? undefined : open);
    if (trims) text = text.trimStart();
    if (trimsBefore) text = text.trimEnd();
    if (text !== "") pieces.push({ text });
    if (open < 0) break;
    const line = lineOf(source, open);
    const start = open + 2 + (trimsBefore ? 1 : 0);
    const commented = matchAt(comment, source, start);
    const action = commented === "" ? actionAt(source, start, line) : undefined;
    if (action !== undefined) pieces.push({ tokens: action.tokens, line });
    at = action?.end ?? start + commented.length;
    trims = /\s-}}$/.test(source.slice(start, at));
  }
  return pieces;
}

function lineOf(source: string, at: number): number {
  let line = 1;
  for (let next = source.indexOf("\n"); next >= 0 && next < at; line++) {
    next = source.indexOf("\n", next + 1);
  }
  return line;
}

function actionAt(
  source: string,
  start: number,
  line: number,
): { readonly tokens: readonly Token[]; readonly end: number } {
  const tokens: Token[] = [];
  for (let at = start; at < source.length;) {
    const trimmed = source.startsWith("-}}", at) && tokens.at(-1)?.kind === "space";
    if (trimmed || source.startsWith("}}", at)) {
      return { tokens: [...tokens, { kind: "end", text: "" }], end: at + (trimmed ? 3 : 2) };
    }
    const token = tokenAt(source, at, tokens.at(-1));
    if (token === undefined) {
      const text = JSON.stringify(String.fromCodePoint(source.codePointAt(at) ?? 0));
      throw new TemplateFault(`line ${line}: unexpected character ${text} in an action`);
    }
    tokens.push({ kind: token.kind, text: valueOf(token.kind, token.text, line) });
    at += token.text.length;
  }
  throw new TemplateFault(`line ${line}: unclosed action`);
}

function tokenAt(source: string, at: number, before: Token | undefined): Token | undefined {
  for (const [kind, pattern] of patterns) {
    const text = matchAt(pattern, source, at);
    if (text === "") continue;
    const isJoined = before !== undefined && before.kind !== "space" && before.kind !== "symbol";
    if (isJoined && (kind === "word" || kind === "number" || kind === "string")) return undefined;
    return { kind, text };
  }
  return undefined;
}

function valueOf(kind: TokenKind, text: string, line: number): string {
  if (kind === "field" || kind === "variable") return text.slice(1);
  if (kind !== "string") return text;
  if (text.startsWith("`")) return text.slice(1, -1);
  if (text.startsWith("'")) throw new TemplateFault(`line ${line}: characters are not supported`);
  try {
    return JSON.parse(text) as string;
  } catch {
    throw new TemplateFault(`line ${line}: unsupported escape in ${text}`);
  }
}

function matchAt(pattern: RegExp, text: string, at: number): string {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0] ?? "";
}
