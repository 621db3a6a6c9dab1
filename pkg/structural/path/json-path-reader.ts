/** Parses JSONPath expressions. */

/** A JSONPath that cannot be parsed. */
export class PathFault extends Error {
  override readonly name = "PathFault";
}

export type PathStep =
  | { readonly tag: "field"; readonly name: string }
  /** `*`: every child. */
  | { readonly tag: "all" }
  /** `..`: the value and all its descendants. */
  | { readonly tag: "descend" }
  /** `[2]`, `[-1]`, `[1:5:2]`; negative numbers count from the end. */
  | {
      readonly tag: "slice";
      readonly start: number;
      readonly end: number | undefined;
      readonly step: number;
    }
  | { readonly tag: "filter"; readonly test: Comparison }
  | { readonly tag: "union"; readonly parts: readonly PathStep[] }
  | { readonly tag: "path"; readonly steps: readonly PathStep[] };

export interface Comparison {
  readonly left: Operand;
  readonly operator: "exists" | "==" | "!=" | "<" | "<=" | ">" | ">=";
  readonly right: Operand;
}

/** `@.a.b`, or a literal. */
type Operand = { readonly path: readonly PathStep[] } | { readonly value: unknown };

const maxLength = 10_000;

/** Parses a path; `$` or `@` at its start is optional. @throws PathFault */
export function readPath(text: string): readonly PathStep[] {
  if (text.length > maxLength) throw new PathFault("path too long");
  return new PathReader(text.replace(/^\s*[$@]?/, "")).path();
}

/** Parser of a path or of a part of one. */
class PathReader {
  private at = 0;

  constructor(private readonly text: string) {}

  path(): readonly PathStep[] {
    const steps: PathStep[] = [];
    while (this.at < this.text.length) {
      if (this.take("..")) {
        steps.push({ tag: "descend" });
        if (this.at < this.text.length && this.text[this.at] !== "[") steps.push(this.name());
      } else if (this.take("[")) steps.push(this.bracket());
      else if (this.take(".")) {
        if (this.at < this.text.length && this.text[this.at] !== "[") steps.push(this.name());
      } else steps.push(this.name());
    }
    return steps;
  }

  private take(token: string): boolean {
    if (!this.text.startsWith(token, this.at)) return false;
    this.at += token.length;
    return true;
  }

  /** A name up to the next delimiter; a backslash escapes the next character. */
  private name(): PathStep {
    const [escaped = ""] = /^(?:\\.|[^\\.[\]\s])+/s.exec(this.text.slice(this.at)) ?? [];
    if (escaped === "") throw new PathFault(`unrecognized character at ${this.at}`);
    this.at += escaped.length;
    if (escaped === "*") return { tag: "all" };
    return { tag: "field", name: escaped.replace(/\\(.)/gs, "$1") };
  }

  /** A filter, index, slice or union in brackets, after `[`. */
  private bracket(): PathStep {
    const inside = this.untilClosed();
    const filter = /^\?\((.*)\)$/s.exec(inside.trim())?.[1];
    if (filter !== undefined) return { tag: "filter", test: readComparison(filter) };
    const parts = splitUnquoted(inside, ",").map(readSelector);
    const [only] = parts;
    return only !== undefined && parts.length === 1 ? only : { tag: "union", parts };
  }

  /** The text up to the matching bracket, which is consumed. */
  private untilClosed(): string {
    const start = this.at;
    let depth = 1;
    for (; this.at < this.text.length; this.at++) {
      const character = this.text[this.at] ?? "";
      if (character === '"' || character === "'") this.at = endOfQuote(this.text, this.at);
      else if (character === "[") depth++;
      else if (character === "]" && --depth === 0) return this.text.slice(start, this.at++);
    }
    throw new PathFault("unterminated array");
  }
}

/** Offset of the closing quote of the string that starts at `start`. */
function endOfQuote(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === "\\") at++;
    else if (text[at] === text[start]) return at;
  }
  throw new PathFault("unterminated quoted string");
}

function splitUnquoted(text: string, separator: string): readonly string[] {
  const parts: string[] = [];
  let start = 0;
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '"' || text[at] === "'") at = endOfQuote(text, at);
    else if (text[at] === separator) {
      parts.push(text.slice(start, at));
      start = at + 1;
    }
  }
  return [...parts, text.slice(start)];
}

function readSelector(text: string): PathStep {
  const trimmed = text.trim();
  if (trimmed === "*") return { tag: "all" };
  // Dots in quotes are separators, as in client-go.
  const quoted = /^'([^']*)'$/.exec(trimmed)?.[1];
  if (quoted !== undefined) return { tag: "path", steps: readPath(`.${quoted}`) };
  if (/^-?\d{1,9}$/.test(trimmed)) {
    const start = Number(trimmed);
    return { tag: "slice", start, end: start === -1 ? undefined : start + 1, step: 1 };
  }
  const [, start, end, step] = /^(-?\d{0,9}):(-?\d{0,9})(?::(\d{0,9}))?$/.exec(trimmed) ?? [];
  if (start === undefined) throw new PathFault(`invalid array index ${trimmed}`);
  const stride = step ? Number(step) : 1;
  if (stride <= 0) throw new PathFault("step must be > 0");
  return {
    tag: "slice",
    start: Number(start || 0),
    end: end ? Number(end) : undefined,
    step: stride,
  };
}

function quotedText(text: string): string | undefined {
  const quote = text[0];
  if (text.length < 2 || (quote !== '"' && quote !== "'") || !text.endsWith(quote))
    return undefined;
  return text.slice(1, -1).replace(/\\(.)/gs, "$1");
}

function readComparison(text: string): Comparison {
  const [, left = "", operator, right = ""] =
    /^((?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[^"'=!<>])*)(==|!=|<=|>=|<|>)(.*)$/s.exec(text) ?? [];
  if (operator === undefined) {
    const tested = readOperand(text);
    return { left: tested, operator: "exists", right: tested };
  }
  const known = operator as Comparison["operator"];
  return { left: readOperand(left), operator: known, right: readOperand(right) };
}

function parseNumber(text: string): number | bigint {
  const number = Number(text);
  return text.includes(".") || Number.isSafeInteger(number) ? number : BigInt(text);
}

function readOperand(text: string): Operand {
  const trimmed = text.trim();
  const quoted = quotedText(trimmed);
  if (quoted !== undefined) return { value: quoted };
  if (trimmed === "true" || trimmed === "false") return { value: trimmed === "true" };
  if (/^-?\d+(?:\.\d+)?$/.test(trimmed)) return { value: parseNumber(trimmed) };
  if (!/^[@$.[]/.test(trimmed)) throw new PathFault(`unrecognized operand ${trimmed}`);
  return { path: readPath(trimmed) };
}
