/**
 * Command-line flags with the semantics of Go's pflag, which Kubernetes programs use:
 * `--name=value`, `--name value`, `-n=value`, `--bool`, `--bool=false`; a repeated list flag adds
 * up; `--` ends the flags.
 */
import { formatIp, parseIp } from "#base";

export type FlagType = "string" | "ip" | "bool" | "int" | "float" | "duration" | "list" | "pairs";

export interface Flag<T extends FlagType = FlagType> {
  readonly type: T;
  /** Default value, in milliseconds for type `duration`. */
  readonly default: FlagValue<T>;
  /** Description with unit and format; `--help` adds the type and the default. */
  readonly help: string;
  /** Allowed values of a string flag. */
  readonly values?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  /** Whether `--name=` means the default, for scripts that pass an unset variable. */
  readonly emptyIsDefault?: boolean;
}

export type FlagValue<T extends FlagType> = T extends "string" | "ip"
  ? string
  : T extends "bool"
    ? boolean
    : T extends "int" | "float" | "duration"
      ? number
      : T extends "list"
        ? readonly string[]
        : ReadonlyMap<string, string>;

export type Flags = Readonly<Record<string, Flag>>;

export type FlagValues<F extends Flags> = {
  readonly [K in keyof F]: F[K] extends Flag<infer T> ? FlagValue<T> : never;
};

/** An invalid command line; the message is printed unchanged. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

type Rules<T extends FlagType> = Pick<Flag<T>, "values" | "minimum" | "maximum" | "emptyIsDefault">;

/** Declares a flag: `flag("int", 6443, "port to serve HTTPS on")`. */
export function flag<T extends FlagType>(
  type: T,
  initial: FlagValue<T>,
  help: string,
  rules: Rules<T> = {},
): Flag<T> {
  return { type, default: initial, help, ...rules };
}

/** `--name`, `--name=value`; names of one letter take one dash as well. */
const flagWord = /^(?:--|-(?=[a-z](?:=|$)))([^=]+)(?:=([\s\S]*))?$/;

/**
 * Parses `words` into the values of `flags`. Positional arguments are appended to `others`, or
 * rejected if it is absent. Flags end at `--`.
 * @throws UsageError
 */
export function parseFlags<F extends Flags>(
  flags: F,
  words: readonly string[],
  others?: string[],
): FlagValues<F> {
  const values = new Map<string, unknown>();
  for (let at = 0; at < words.length; at++) {
    const word = words[at] as string;
    const [, name, inline] = flagWord.exec(word) ?? [];
    if (name === undefined) {
      at = takeArguments(words, at, others);
      continue;
    }
    const declared = Object.hasOwn(flags, name) ? flags[name] : undefined;
    if (declared === undefined) throw unknownFlag(flags, name, word);
    const text = inline ?? (declared.type === "bool" ? "true" : words[++at]);
    if (text === undefined) throw new UsageError(`flag needs an argument: --${name}`);
    if (text === "" && declared.emptyIsDefault) values.delete(name);
    else values.set(name, parseValue(name, declared, { text, previous: values.get(name) }));
  }
  return Object.fromEntries(
    Object.entries(flags).map(([name, declared]) => [name, values.get(name) ?? declared.default]),
  ) as FlagValues<F>;
}

/** Consumes a positional argument, or all after `--`; returns the index of the last one consumed. */
function takeArguments(words: readonly string[], at: number, others?: string[]): number {
  const word = words[at] as string;
  const isEnd = word === "--";
  const taken = isEnd ? words.slice(at + 1) : [word];
  if (/^-[^-]/.test(word)) throw unknownFlag({}, word.slice(1), word);
  if (others === undefined && taken.length > 0) {
    throw new UsageError(`unexpected argument: ${JSON.stringify(taken[0])}`);
  }
  others?.push(...taken);
  return isEnd ? words.length : at;
}

interface Given {
  readonly text: string;
  /** Value of an earlier occurrence of the flag. */
  readonly previous: unknown;
}

function parseValue(name: string, declared: Flag, { text, previous }: Given): unknown {
  switch (declared.type) {
    case "string":
      return checkedString(name, declared, text);
    case "ip":
      return checkedAddress(name, text);
    case "bool":
      return parseBool(name, text);
    case "int":
      return checkedRange(name, declared, parseInteger(name, text));
    case "float":
      return checkedRange(name, declared, parseNumber(name, text));
    case "duration":
      return checkedRange(name, declared, parseDuration(name, text));
    case "list":
      return [...((previous as string[] | undefined) ?? []), ...text.split(",").filter(Boolean)];
    case "pairs":
      return parsePairs(name, text, previous as ReadonlyMap<string, string> | undefined);
  }
}

function invalid(name: string, text: string, why: string): UsageError {
  return new UsageError(`invalid argument ${JSON.stringify(text)} for "--${name}" flag: ${why}`);
}

function checkedString(name: string, declared: Flag, text: string): string {
  if (declared.values !== undefined && !declared.values.includes(text)) {
    throw invalid(name, text, `must be one of ${declared.values.join(", ")}`);
  }
  return text;
}

function checkedAddress(name: string, text: string): string {
  if (text === "") return text;
  const address = parseIp(text);
  if (address === undefined) throw invalid(name, text, "must be an IP address");
  return formatIp(address);
}

function parseBool(name: string, text: string): boolean {
  if (["true", "1", "t", "T", "TRUE", "True"].includes(text)) return true;
  if (["false", "0", "f", "F", "FALSE", "False"].includes(text)) return false;
  throw invalid(name, text, "must be true or false");
}

function parseInteger(name: string, text: string): number {
  if (!/^-?\d{1,15}$/.test(text)) throw invalid(name, text, "must be an integer");
  return Number(text);
}

function parseNumber(name: string, text: string): number {
  if (!/^-?(?:\d+\.?\d*|\.\d+)(?:e-?\d{1,2})?$/i.test(text)) {
    throw invalid(name, text, "must be a number");
  }
  return Number(text);
}

function checkedRange(name: string, declared: Flag, value: number): number {
  const { minimum, maximum } = declared;
  if (minimum !== undefined && value < minimum) {
    throw invalid(name, String(value), `must not be less than ${minimum}`);
  }
  if (maximum !== undefined && value > maximum) {
    throw invalid(name, String(value), `must not be more than ${maximum}`);
  }
  return value;
}

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** Parses a Go duration, such as `1h30m`, `250ms` or `0`, into milliseconds. */
function parseDuration(name: string, text: string): number {
  if (text === "0") return 0;
  if (!/^(?:\d+(?:\.\d+)?(?:ms|s|m|h))+$/.test(text)) {
    throw invalid(name, text, "must be a duration such as 30s, 5m or 1h30m");
  }
  const parts = text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g);
  return [...parts].reduce(
    (sum, [, n, unit]) => sum + Number(n) * (unitMs[unit as string] ?? 0),
    0,
  );
}

/** Parses pairs such as `a=b,c`. A key without a value means `true`, as in `--runtime-config`. */
function parsePairs(
  name: string,
  text: string,
  previous: ReadonlyMap<string, string> = new Map(),
): ReadonlyMap<string, string> {
  const pairs = new Map(previous);
  for (const pair of text.split(",").filter(Boolean)) {
    const at = pair.indexOf("=");
    const key = at < 0 ? pair : pair.slice(0, at);
    if (key === "") throw invalid(name, text, "a pair has no key");
    pairs.set(key.trim(), at < 0 ? "true" : pair.slice(at + 1).trim());
  }
  return pairs;
}

function unknownFlag(flags: Flags, name: string, word: string): UsageError {
  if (word.startsWith("--")) {
    return new UsageError(`unknown flag: --${name}${suggestion(flags, name)}`);
  }
  return new UsageError(`unknown shorthand flag: '${name[0]}' in ${word}`);
}

/** Suggests a declared flag whose name differs by one typing error. */
function suggestion(flags: Flags, name: string): string {
  const near = Object.keys(flags).find((known) => differsByOne(known, name));
  return near === undefined ? "" : ` (did you mean --${near}?)`;
}

function differsByOne(a: string, b: string): boolean {
  if (Math.abs(a.length - b.length) > 1) return false;
  let start = 0;
  while (start < a.length && a[start] === b[start]) start++;
  let end = 0;
  const most = Math.min(a.length, b.length) - start;
  while (end < most && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  return Math.max(a.length, b.length) - start - end <= 2;
}
