/** Token tables of the grammar. */

const literals = "'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER";

/** Tokens that can start an operand, as ANTLR lists them in error messages. */
export const expectedStart = `{'[', '{', '(', '.', '-', '!', ${literals}}`;
/** Tokens expected after the `(` of a call. */
export const expectedArgument = `{'[', '{', '(', ')', '.', '-', '!', ${literals}}`;
/** Tokens expected after the `[` of an index. */
export const expectedIndex = `{'[', '{', '(', '.', '-', '!', '?', ${literals}}`;
/** Tokens expected in an empty list. */
export const expectedElement = `{'[', ']', '{', '(', '.', ',', '-', '!', '?', ${literals}}`;
/** Tokens expected in an empty map. */
export const expectedEntry = `{'[', '{', '}', '(', '.', ',', '-', '!', '?', ${literals}}`;

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

/** Whether the word is reserved: a field name, but not a variable name. */
export function isReserved(name: string): boolean {
  return reserved.has(name);
}

/** Precedence levels of the left-associative operators, lowest first. */
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

/** Function names of the operators. */
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
