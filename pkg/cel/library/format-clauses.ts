/** Clauses of format strings, for `format` and for the validation of literals. */
import { CelFault } from "../value/values.ts";

export interface Clause {
  readonly verb: Verb;
  /** Number of fraction digits. */
  readonly precision: number | undefined;
}

const acceptedTypes = {
  s:
    "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, " +
    "durations, and timestamps",
  d: "decimal clause can only be used on integers",
  f: "fixed-point clause can only be used on doubles",
  e: "scientific clause can only be used on doubles",
  b: "only integers and bools can be formatted as binary",
  o: "octal clause can only be used on integers",
  x: "only integers, byte buffers, and strings can be formatted as hex",
  X: "only integers, byte buffers, and strings can be formatted as hex",
} as const;

export type Verb = keyof typeof acceptedTypes;

/** Higher precisions would only add zeros, and take long. */
const maxPrecision = 1_000;

/** The error of a value whose type the clause does not accept. */
export function mismatch(verb: Verb, type: string): CelFault {
  return new CelFault(`error during formatting: ${acceptedTypes[verb]}, was given ${type}`);
}

export interface FormatArguments {
  /** Called at each clause before it is parsed. */
  before?(index: number): void;
  count(): number;
  /** Formats the argument of one clause. */
  clause(clause: Clause, index: number): string;
}

/** Replaces the clauses of a format string. @throws CelFault */
export function formatClauses(text: string, values: FormatArguments): string {
  let made = "";
  let index = 0;
  for (let at = 0; at < text.length;) {
    const start = text.indexOf("%", at);
    if (start < 0) return made + text.slice(at);
    made += text.slice(at, start);
    if (text[start + 1] === "%") {
      made += "%";
      at = start + 2;
      continue;
    }
    values.before?.(index);
    if (start + 1 >= text.length) throw new CelFault("unexpected end of string");
    if (index >= values.count()) throw new CelFault(`index ${index} out of range`);
    const { clause, end } = readClause(text, start + 1);
    made += values.clause(clause, index++);
    at = end;
  }
  return made;
}

function readClause(text: string, at: number): { clause: Clause; end: number } {
  const digits = /\.(\d*)/y;
  digits.lastIndex = at;
  const [whole = "", count] = digits.exec(text) ?? [];
  const end = at + whole.length;
  if (end >= text.length)
    throw invalidClause(precisionError + "could not find end of precision specifier");
  const precision = count === undefined ? undefined : precisionOf(count);
  const verb = text[end] ?? "";
  if (Object.hasOwn(acceptedTypes, verb)) {
    return { clause: { verb: verb as Verb, precision }, end: end + 1 };
  }
  // Go scans the string by bytes.
  const byte = Buffer.from(String.fromCodePoint(text.codePointAt(end) ?? 0))[0] ?? 0;
  throw invalidClause(`unrecognized formatting clause "${String.fromCharCode(byte)}"`);
}

const precisionError = "error while parsing precision: ";

function precisionOf(digits: string): number {
  const fault = (why: string): CelFault => {
    const parsing = `strconv.Atoi: parsing "${digits}": ${why}`;
    return invalidClause(
      `${precisionError}error while converting precision to integer: ${parsing}`,
    );
  };
  if (digits === "") throw fault("invalid syntax");
  if (digits.length > 19 || BigInt(digits) >= 2n ** 63n) throw fault("value out of range");
  if (Number(digits) > maxPrecision) throw invalidClause(`precision ${digits} is too large`);
  return Number(digits);
}

function invalidClause(why: string): CelFault {
  return new CelFault(`could not parse formatting clause: ${why}`);
}
