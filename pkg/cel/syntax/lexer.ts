/** Lexer. */

type TokenKind =
  | "end"
  | "symbol"
  | "identifier"
  | "escaped"
  | "keyword"
  | "int"
  | "uint"
  | "float"
  | "string"
  | "bytes";

export interface Token {
  readonly kind: TokenKind;
  readonly text: string;
  readonly at: number;
}

export interface LexicalFault {
  readonly at: number;
  readonly message: string;
}

const patterns: readonly (readonly [TokenKind, RegExp])[] = [
  ["float", /(?:\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?)/y],
  ["uint", /(?:0x[0-9a-fA-F]+|\d+)[uU]/y],
  ["int", /(?:0x[0-9a-fA-F]+|\d+)/y],
  ["bytes", /[bB](?=[rR]?["'])/y],
  ["string", /[rR]?(?=["'])/y],
  ["identifier", /[A-Za-z_][A-Za-z0-9_]*/y],
  ["escaped", /`[A-Za-z0-9_.\-/ ]+`/y],
  ["symbol", /==|!=|<=|>=|&&|\|\||[<>[\]{}().,\-!?:+*/%]/y],
];

/** Number of faults after which the lexer stops. */
const maxFaults = 100;

const keywords: ReadonlySet<string> = new Set(["true", "false", "null", "in"]);
const blank = /(?:[\t\n\f\r ]+|\/\/[^\n]*)+/y;

const rawBodies = {
  '"""': /"""[^]*?"""/y,
  "'''": /'''[^]*?'''/y,
  '"': /"[^"\n\r]*"/y,
  "'": /'[^'\n\r]*'/y,
} as const;

const hex = "[0-9a-fA-F]";
const escape = `\\\\(?:[abfnrtv"'\\\\?\`]|[0-3][0-7]{2}|[xX]${hex}{2}|u${hex}{4}|U${hex}{8})`;
/** An incomplete escape sequence. */
const brokenEscape = `\\\\(?:[0-3][0-7]?|[xX]${hex}?|u${hex}{0,3}|U${hex}{0,7})?`;

const stringBodies = {
  '"""': new RegExp(`"""(?:${escape}|[^\\\\])*?"""`, "y"),
  "'''": new RegExp(`'''(?:${escape}|[^\\\\])*?'''`, "y"),
  '"': new RegExp(`"(?:${escape}|[^"\\\\\\n\\r])*"`, "y"),
  "'": new RegExp(`'(?:${escape}|[^'\\\\\\n\\r])*'`, "y"),
} as const;

/** String literals without terminator, up to the offending character. */
const unterminatedBodies = {
  '"': new RegExp(`"(?:${escape}|[^"\\\\\\n\\r])*(?:${brokenEscape})?`, "y"),
  "'": new RegExp(`'(?:${escape}|[^'\\\\\\n\\r])*(?:${brokenEscape})?`, "y"),
} as const;

/** The tokens, the last of which is `end`, and the unrecognized parts. */
export function tokenize(text: string): { tokens: Token[]; faults: LexicalFault[] } {
  const tokens: Token[] = [];
  const faults: LexicalFault[] = [];
  let at = 0;
  for (;;) {
    at += matchAt(blank, text, at).length;
    if (at >= text.length || faults.length >= maxFaults) break;
    const token = tokenAt(text, at);
    if (token === undefined) {
      const unknown = unrecognized(text, at);
      faults.push({ at, message: `token recognition error at: '${unknown}'` });
      at += unknown.length;
    } else {
      tokens.push(token);
      at += token.text.length;
    }
  }
  tokens.push({ kind: "end", text: "<EOF>", at: text.length });
  return { tokens, faults };
}

function tokenAt(text: string, at: number): Token | undefined {
  for (const [kind, pattern] of patterns) {
    if (kind === "string" || kind === "bytes") {
      const quoted = quotedAt(text, at, kind === "bytes");
      if (quoted !== undefined) return { kind, text: quoted, at };
      continue;
    }
    const matched = matchAt(pattern, text, at);
    if (matched === "") continue;
    const isKeyword = kind === "identifier" && keywords.has(matched);
    return { kind: isKeyword ? "keyword" : kind, text: matched, at };
  }
  return undefined;
}

function quotedAt(text: string, at: number, isBytes: boolean): string | undefined {
  const prefix = matchAt(isBytes ? /[bB][rR]?(?=["'])/y : /[rR]?(?=["'])/y, text, at);
  const start = at + prefix.length;
  if (isBytes && prefix === "") return undefined;
  const raw = /[rR]/.test(prefix);
  for (const quote of ['"""', "'''", '"', "'"] as const) {
    if (!text.startsWith(quote, start)) continue;
    const body = matchAt((raw ? rawBodies : stringBodies)[quote], text, start);
    if (body !== "") return prefix + body;
  }
  return undefined;
}

/** The longest unrecognized text at the position, for error messages. */
function unrecognized(text: string, at: number): string {
  const first = String.fromCodePoint(text.codePointAt(at) ?? 0);
  if (first === "&" || first === "|" || first === "=") {
    return (
      first + String.fromCodePoint(text.codePointAt(at + 1) ?? 32).slice(0, text.length - at - 1)
    );
  }
  if (first === '"' || first === "'") {
    return withNext(text, at, matchAt(unterminatedBodies[first], text, at));
  }
  if (first !== "`") return first;
  return withNext(text, at, matchAt(/`[A-Za-z0-9_.\-/ ]*/y, text, at));
}

/** The text at the position and the next character, if any. */
function withNext(text: string, at: number, run: string): string {
  const next = text.codePointAt(at + run.length);
  return next === undefined ? run : run + String.fromCodePoint(next);
}

function matchAt(pattern: RegExp, text: string, at: number): string {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0] ?? "";
}
