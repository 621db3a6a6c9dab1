import { evaluate } from "./arithmetic.ts";
import type { Piece, Script, VariableOperator, Word } from "./syntax.ts";

/** Callbacks of word expansion. */
export interface Expansion {
  /** Undefined = the variable is not set. */
  get(name: string): string | undefined;
  set(name: string, value: string): void;
  /** The output of a script, without trailing newlines. */
  output(script: Script): Running<string>;
}

/** Work that yields the milliseconds for which the script sleeps. */
export type Running<T> = Generator<number, T, void>;

/** A required parameter is not set: `${NAME?message}`. */
export class ExpansionFault extends Error {}

/** Expands words; splits unquoted results at blanks and drops empty ones. */
export function* expandWords(words: readonly Word[], by: Expansion): Running<string[]> {
  const expanded: string[] = [];
  for (const word of words) {
    let open: string | undefined;
    for (const piece of word) {
      const text = yield* expandPiece(piece, by);
      if (piece.isQuoted || piece.kind === "text") {
        open = (open ?? "") + text;
        continue;
      }
      const [first = "", ...rest] = text.split(/[ \t\n]+/);
      if (first !== "") open = (open ?? "") + first;
      for (const part of rest) {
        if (open !== undefined) expanded.push(open);
        open = part === "" ? undefined : part;
      }
    }
    if (open !== undefined) expanded.push(open);
  }
  return expanded;
}

/** Expands a word without splitting. */
export function* expandText(word: Word, by: Expansion): Running<string> {
  let text = "";
  for (const piece of word) text += yield* expandPiece(piece, by);
  return text;
}

function* expandPiece(piece: Piece, by: Expansion): Running<string> {
  switch (piece.kind) {
    case "text":
      return piece.text;
    case "command":
      return yield* by.output(piece.script);
    case "arithmetic": {
      const expression = yield* expandText(piece.expression, by);
      return String(evaluate(expression, (name) => by.get(name) ?? ""));
    }
    default:
      if (piece.operator === undefined) return by.get(piece.name) ?? "";
      return yield* expandOperator(piece.name, piece.operator, by);
  }
}

function* expandOperator(name: string, operator: VariableOperator, by: Expansion): Running<string> {
  const value = by.get(name);
  const isSet = value !== undefined && !(operator.emptyIsUnset && value === "");
  if (operator.sign === "+") return isSet ? yield* expandText(operator.word, by) : "";
  if (isSet) return value;
  const text = yield* expandText(operator.word, by);
  if (operator.sign === "?") throw new ExpansionFault(`${name}: ${text || "parameter not set"}`);
  if (operator.sign === "=") by.set(name, text);
  return text;
}
