/** Regular expressions with RE2's syntax, semantics and linear time. */
import { RE2JS, RE2JSSyntaxException } from "re2js";
import { setBounded } from "#base";
import { define, type Library, overload } from "../../check/declare.ts";
import { toInt } from "../../value/numbers.ts";
import { CelFault, ArrayList } from "../../value/values.ts";

const maxCachedPatterns = 1_000;

/** Cache of compiled patterns; evicts the oldest. */
class PatternCache {
  private readonly compiled = new Map<string, RE2JS>();

  /** @throws CelFault for an invalid pattern */
  get(text: string): RE2JS {
    const known = this.compiled.get(text);
    if (known !== undefined) return known;
    const compiled = compilePattern(text);
    setBounded(this.compiled, [text, compiled], maxCachedPatterns);
    return compiled;
  }
}

/** Limits the time of compilation, which costs do not include. */
const maxPatternLength = 20_000;
/** Limit of counted repetitions, each of which may expand to a thousand copies. */
const maxRepeats = 100;

/** @throws CelFault for an invalid pattern, with Go's message, or one that is expensive to compile */
export function compilePattern(text: string): RE2JS {
  if (text.length > maxPatternLength || countRepeats(text) > maxRepeats) {
    throw new CelFault("error parsing regexp: expression too large");
  }
  try {
    return RE2JS.compile(text);
  } catch (error) {
    if (!(error instanceof RE2JSSyntaxException)) throw error;
    // Go permits duplicate group names, and no function uses the names.
    const isRepeated = error.message.includes("duplicate capture group name");
    const unnamed = isRepeated ? withoutGroupNames(text) : text;
    if (unnamed !== text) return compilePattern(unnamed);
    throw new CelFault(goMessage(error.message));
  }
}

/** Replaces named groups by unnamed ones. */
function withoutGroupNames(text: string): string {
  const part = /\\Q[^]*?(?:\\E|$)|\\[^]|\[\^?\]?(?:\\[^]|\[:\^?\w+:\]|[^\]\\])*\]|\(\?P?<\w+>/g;
  return text.replace(part, (found) => (found.startsWith("(") ? "(" : found));
}

/** Translates the one message of re2js that differs from Go's. */
function goMessage(message: string): string {
  return message.replace(/(trailing backslash at end of expression)$/, "$1: ``");
}

/** Number of counted repetitions of ten or more. */
function countRepeats(text: string): number {
  return text.match(/\{\d*,?\d\d/g)?.length ?? 0;
}

/** The regex library with a pattern cache; one per environment. */
export function patternLibrary(): Library {
  const patterns = new PatternCache();
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
  const findAll = (text: string, pattern: string, limit: number): ArrayList => {
    const found: string[] = [];
    const matcher = legal(pattern).matcher(text);
    const most = limit < 0 ? Infinity : limit;
    let end = -1;
    while (found.length < most && matcher.find()) {
      // Go ignores an empty match right after another match.
      if (matcher.end() === matcher.start() && matcher.start() === end) continue;
      end = matcher.end();
      found.push(matcher.group() ?? "");
    }
    return new ArrayList(found);
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
