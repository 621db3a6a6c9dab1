/** The strings library. Positions and lengths are in code points. */
import { define, type Library, overload } from "../check/declare.ts";
import { codePoints } from "../syntax/source.ts";
import { CelFault, displayed, ArrayList, type ListValue, type Value } from "../value/values.ts";
import { formatText } from "./format-text.ts";

type Int = number | bigint;

/** The text in a form that is indexed by code points: itself if it has no surrogates. */
function characters(text: string): readonly string[] | string {
  return codePoints(text) === text.length ? text : [...text];
}

function slice(text: readonly string[] | string, from: number, to: number): string {
  const part = text.slice(from, to);
  return typeof part === "string" ? part : part.join("");
}

function outOfRange(position: Int): CelFault {
  return new CelFault(`index out of range: ${position}`);
}

function charAt(text: string, position: Int): Value {
  const own = characters(text);
  const at = Number(position);
  if (at < 0 || at > own.length) throw outOfRange(position);
  return own[at] ?? "";
}

function substring(text: string, from: Int, to?: Int): Value {
  const own = characters(text);
  const start = Number(from);
  const end = to === undefined ? own.length : Number(to);
  if (to !== undefined && start > end) {
    throw new CelFault(`invalid substring range. start: ${from}, end: ${to}`);
  }
  if (start < 0 || start > own.length) throw outOfRange(from);
  if (end < 0 || end > own.length) throw outOfRange(to ?? 0);
  return slice(own, start, end);
}

/** -1 beyond the end; an empty part is found at the start position. */
function indexOf(text: string, part: string, from: Int = 0): Value {
  if (part === "") return from;
  const own = characters(text);
  const start = Number(from);
  if (start < 0) throw outOfRange(from);
  if (start >= own.length) return -1;
  if (typeof own === "string") return own.indexOf(part, start);
  const rest = slice(own, start, own.length);
  const found = rest.indexOf(part);
  return found < 0 ? -1 : start + codePoints(rest.slice(0, found));
}

function lastIndexOf(text: string, part: string, from?: Int): Value {
  const own = characters(text);
  if (part === "") return from ?? own.length;
  const start = from === undefined ? own.length - 1 : Number(from);
  if (start < 0 && from !== undefined) throw outOfRange(from);
  if (start < 0 || start >= own.length) return -1;
  const searched = slice(own, 0, Math.min(own.length, start + codePoints(part)));
  const found = searched.lastIndexOf(part);
  return found < 0 ? -1 : codePoints(searched.slice(0, found));
}

function replace(text: string, ...rest: readonly [string, string, Int?]): Value {
  const [old, next, limit] = rest;
  const most = limit === undefined ? -1 : Number(limit);
  if (most < 0)
    return text.split(old).length > 0 && old !== ""
      ? text.replaceAll(old, () => next)
      : between(text, next, -1);
  if (old === "") return between(text, next, most);
  const parts = splitText(text, old, most + 1);
  return parts.join(next);
}

/** Inserts the text before each character and at the end, at most `most` times. */
function between(text: string, next: string, most: number): string {
  let made = "";
  let count = 0;
  for (const character of text) {
    made += most < 0 || count++ < most ? next + character : character;
  }
  return most < 0 || count < most ? made + next : made;
}

/** Go's SplitN: at most `most` parts, the last with the rest; all if `most` is negative. */
function splitText(text: string, separator: string, most: number): string[] {
  if (most === 0) return [];
  const parts = separator === "" ? [...text] : text.split(separator);
  if (most < 0 || parts.length <= most) return parts;
  return [...parts.slice(0, most - 1), parts.slice(most - 1).join(separator)];
}

function join(list: ListValue, separator = ""): Value {
  const parts: string[] = [];
  for (const part of list) {
    if (typeof part !== "string") throw new CelFault(`join: invalid input: ${displayed(part)}`);
    parts.push(part);
  }
  return parts.join(separator);
}

const quotes: ReadonlyMap<string, string> = new Map([
  ["\u0007", "\\a"],
  ["\b", "\\b"],
  ["\f", "\\f"],
  ["\n", "\\n"],
  ["\r", "\\r"],
  ["\t", "\\t"],
  ["\v", "\\v"],
  ["\\", "\\\\"],
  ['"', '\\"'],
]);

function quote(text: string): Value {
  const safe = text.toWellFormed();
  let quoted = "";
  for (const character of safe) quoted += quotes.get(character) ?? character;
  return `"${quoted}"`;
}

/** Unicode white space by Go's TrimSpace. */
const space =
  "[\\t\\n\\v\\f\\r \\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]";
const leading = new RegExp(`^${space}+`);
const trailing = new RegExp(`^${space}`);

function trim(text: string): Value {
  const start = text.replace(leading, "");
  let end = start.length;
  while (end > 0 && trailing.test(start[end - 1] ?? "")) end--;
  return start.slice(0, end);
}

const lower = (text: string): Value => text.replace(/[A-Z]+/g, (part) => part.toLowerCase());
const upper = (text: string): Value => text.replace(/[a-z]+/g, (part) => part.toUpperCase());
const split = (text: string, separator: string, limit: Int = -1): Value =>
  new ArrayList(splitText(text, separator, Number(limit)));

export const stringLibrary: Library = {
  functions: [
    define(
      "contains",
      overload("contains_string", "string.(string) -> bool", (text: string, part: string) =>
        text.includes(part),
      ),
    ),
    define(
      "startsWith",
      overload("starts_with_string", "string.(string) -> bool", (text: string, part: string) =>
        text.startsWith(part),
      ),
    ),
    define(
      "endsWith",
      overload("ends_with_string", "string.(string) -> bool", (text: string, part: string) =>
        text.endsWith(part),
      ),
    ),
    define("charAt", overload("string_char_at_int", "string.(int) -> string", charAt)),
    define(
      "indexOf",
      overload("string_index_of_string", "string.(string) -> int", indexOf),
      overload("string_index_of_string_int", "string.(string, int) -> int", indexOf),
    ),
    define(
      "lastIndexOf",
      overload("string_last_index_of_string", "string.(string) -> int", lastIndexOf),
      overload("string_last_index_of_string_int", "string.(string, int) -> int", lastIndexOf),
    ),
    define(
      "join",
      overload("list_join", "list(string).() -> string", join),
      overload("list_join_string", "list(string).(string) -> string", join),
    ),
    define("lowerAscii", overload("string_lower_ascii", "string.() -> string", lower)),
    define("upperAscii", overload("string_upper_ascii", "string.() -> string", upper)),
    define(
      "replace",
      overload("string_replace_string_string", "string.(string, string) -> string", replace),
      overload(
        "string_replace_string_string_int",
        "string.(string, string, int) -> string",
        replace,
      ),
    ),
    define(
      "split",
      overload("string_split_string", "string.(string) -> list(string)", split),
      overload("string_split_string_int", "string.(string, int) -> list(string)", split),
    ),
    define(
      "substring",
      overload("string_substring_int", "string.(int) -> string", substring),
      overload("string_substring_int_int", "string.(int, int) -> string", substring),
    ),
    define("trim", overload("string_trim", "string.() -> string", trim)),
    define("format", overload("string_format", "string.(list(dyn)) -> string", formatText)),
    define("strings.quote", overload("strings_quote", "(string) -> string", quote)),
  ],
};
