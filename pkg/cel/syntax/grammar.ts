/** Words of the grammar. */

/** What an operand may begin with, as the grammar's tool lists it in its messages. */
export const expectedStart =
  "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', " +
  "NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";

/** The same where a map may begin, end or go on. */
export const expectedEntry =
  "{'[', '{', '}', '(', '.', ',', '-', '!', '?', 'true', 'false', 'null', " +
  "NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";

const reserved: ReadonlySet<string> = new Set([
  "as",
  "break",
  "const",
  "continue",
  "else",
  "for",
  "function",
  "if",
  "import",
  "let",
  "loop",
  "package",
  "namespace",
  "return",
  "var",
  "void",
  "while",
]);

/** Words that are no names of variables, though they may be names of fields. */
export function isReserved(name: string): boolean {
  return reserved.has(name);
}

/** Levels of the operators that associate to the left, loosest first. */
export const binaryOperators: ReadonlyMap<string, number> = new Map([
  ["<", 0],
  ["<=", 0],
  [">", 0],
  [">=", 0],
  ["==", 0],
  ["!=", 0],
  ["in", 0],
  ["+", 1],
  ["-", 1],
  ["*", 2],
  ["/", 2],
  ["%", 2],
  ["&&", -1],
  ["||", -2],
]);

/** Names of the functions that operators stand for. */
export const operatorNames: ReadonlyMap<string, string> = new Map([
  ["<", "_<_"],
  ["<=", "_<=_"],
  [">", "_>_"],
  [">=", "_>=_"],
  ["==", "_==_"],
  ["!=", "_!=_"],
  ["in", "@in"],
  ["+", "_+_"],
  ["-", "_-_"],
  ["*", "_*_"],
  ["/", "_/_"],
  ["%", "_%_"],
  ["&&", "_&&_"],
  ["||", "_||_"],
]);
