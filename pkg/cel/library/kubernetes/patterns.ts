/** Regular expressions with RE2's syntax, meaning and linear time. */
import { RE2JS, RE2JSSyntaxException } from "re2js";
import { setBounded } from "#base";
import { define, type Library, overload } from "../../check/declare.ts";
import { toInt } from "../../value/numbers.ts";
import { CelFault, Items } from "../../value/values.ts";

const MOST_PATTERNS = 1_000;

/** Compiled patterns, the oldest forgotten first. */
class Patterns {
  private readonly compiled = new Map<string, RE2JS>();

  /** Throws CelFault for what is no pattern. */
  get(text: string): RE2JS {
    const known = this.compiled.get(text);
    if (known !== undefined) return known;
    const made = compilePattern(text);
    setBounded(this.compiled, [text, made], MOST_PATTERNS);
    return made;
  }
}

/** Longer patterns are refused: compiling one takes time that no cost counts. */
const LONGEST_PATTERN = 20_000;
/** Each counted repeat may stand for a thousand copies of what it repeats. */
const MOST_REPEATS = 100;

/** Throws CelFault for what is no pattern, in Go's words, or would take long to compile. */
export function compilePattern(text: string): RE2JS {
  if (text.length > LONGEST_PATTERN || repeats(text) > MOST_REPEATS) {
    throw new CelFault("error parsing regexp: expression too large");
  }
  try {
    return RE2JS.compile(text);
  } catch (error) {
    if (!(error instanceof RE2JSSyntaxException)) throw error;
    // Go lets groups share a name, and no function asks for one by its name.
    const isRepeated = error.message.includes("duplicate capture group name");
    const unnamed = isRepeated ? withoutNames(text) : text;
    if (unnamed !== text) return compilePattern(unnamed);
    throw new CelFault(goWords(error.message));
  }
}

/** The pattern with plain groups for those with names. */
function withoutNames(text: string): string {
  const part = /\\Q[^]*?(?:\\E|$)|\\[^]|\[\^?\]?(?:\\[^]|\[:\^?\w+:\]|[^\]\\])*\]|\(\?P?<\w+>/g;
  return text.replace(part, (found) => (found.startsWith("(") ? "(" : found));
}

/** The package words one fault in a way of its own. */
function goWords(message: string): string {
  return message.replace(/(trailing backslash at end of expression)$/, "$1: ``");
}

/** Repeats of ten or more. */
function repeats(text: string): number {
  return text.match(/\{\d*,?\d\d/g)?.length ?? 0;
}

/** Functions with a memory of patterns, one per environment. */
export function patternLibrary(): Library {
  const patterns = new Patterns();
  const matches = (text: string, pattern: string): boolean => patterns.get(pattern).test(text);
  const legal = (pattern: string): RE2JS => {
    try {
      return patterns.get(pattern);
    } catch (error) {
      throw error instanceof CelFault ? new CelFault(`Illegal regex: ${error.message}`) : error;
    }
  };
  const find = (text: string, pattern: string): string => {
    const matcher = legal(pattern).matcher(text);
    return matcher.find() ? (matcher.group() ?? "") : "";
  };
  const findAll = (text: string, pattern: string, limit: number): Items => {
    const found: string[] = [];
    const matcher = legal(pattern).matcher(text);
    const most = limit < 0 ? Infinity : limit;
    for (let count = 0; count < most && matcher.find(); count++) {
      found.push(matcher.group() ?? "");
    }
    return new Items(found);
  };
  return {
    functions: [
      define(
        "matches",
        overload("matches", "(string, string) -> bool", matches),
        overload("matches_string", "string.(string) -> bool", matches),
      ),
      define("find", overload("string_find_string", "string.(string) -> string", find)),
      define(
        "findAll",
        overload(
          "string_find_all_string",
          "string.(string) -> list(string)",
          (text: string, pattern: string) => findAll(text, pattern, -1),
        ),
        overload(
          "string_find_all_string_int",
          "string.(string, int) -> list(string)",
          (text: string, pattern: string, limit: number | bigint) =>
            findAll(text, pattern, Number(toInt(BigInt(limit)))),
        ),
      ),
    ],
  };
}
