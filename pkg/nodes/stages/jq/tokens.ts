/** Tokenizer of jq queries. */

export interface Token {
  readonly kind: "end" | "symbol" | "word" | "field" | "string" | "number";
  /** The value of a string; `.a` is the field "a". */
  readonly text: string;
}

/** An invalid query, or one that uses unsupported jq features. */
export class QueryFault extends Error {
  override readonly name = "QueryFault";
}

const blank = /(?:\s+|#[^\n]*)*/y;
const patterns: readonly (readonly [Token["kind"], RegExp])[] = [
  ["field", /\.[A-Za-z_][A-Za-z0-9_]*/y],
  ["number", /\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y],
  ["word", /[A-Za-z_][A-Za-z0-9_]*/y],
  ["string", /"(?:[^"\\\n]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*"/y],
  ["symbol", /==|!=|<=|>=|\/\/|[.[\]()|,<>+\-*/%?:{}$]/y],
];

/** @throws QueryFault at an invalid character */
export function tokenize(text: string): readonly Token[] {
  const tokens: Token[] = [];
  for (let at = 0; ;) {
    at += matchAt(blank, text, at).length;
    if (at >= text.length) break;
    const found = patterns
      .map(([kind, pattern]) => [kind, matchAt(pattern, text, at)] as const)
      .find(([, matched]) => matched !== "");
    if (found === undefined) throw new QueryFault(`unexpected character at position ${at}`);
    const [kind, matched] = found;
    tokens.push({ kind, text: valueOf(kind, matched) });
    at += matched.length;
  }
  return [...tokens, { kind: "end", text: "" }];
}

function valueOf(kind: Token["kind"], matched: string): string {
  if (kind === "field") return matched.slice(1);
  return kind === "string" ? (JSON.parse(matched) as string) : matched;
}

function matchAt(pattern: RegExp, text: string, at: number): string {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0] ?? "";
}
