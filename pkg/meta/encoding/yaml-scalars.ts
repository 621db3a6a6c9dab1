import { compareUtf8 } from "#base";
import { goQuote } from "./go-quote.ts";
import { YamlFault } from "./yaml-faults.ts";

/**
 * What a plain YAML scalar means to Kubernetes, which reads YAML 1.1 as its Go library does:
 * `yes`, `on` and `y` are booleans, `017` is octal, `1_000` a number; times stay texts and there
 * is no base 60.
 */

type ScalarKind = "string" | "null" | "bool" | "int" | "float" | "timestamp" | "merge";

interface ResolvedScalar {
  readonly kind: ScalarKind;
  /** Integers beyond 2^53 are bigints. */
  readonly value: unknown;
}

const words: ReadonlyMap<string, ResolvedScalar> = new Map([
  ...named(["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE"], "bool", true),
  ...named(["on", "On", "ON"], "bool", true),
  ...named(["n", "N", "no", "No", "NO", "false", "False", "FALSE"], "bool", false),
  ...named(["off", "Off", "OFF"], "bool", false),
  ...named(["", "~", "null", "Null", "NULL"], "null", null),
  ...named([".nan", ".NaN", ".NAN"], "float", Number.NaN),
  ...named([".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"], "float", Number.POSITIVE_INFINITY),
  ...named(["-.inf", "-.Inf", "-.INF"], "float", Number.NEGATIVE_INFINITY),
  ...named(["<<"], "merge", "<<"),
]);

function named(
  texts: readonly string[],
  kind: ScalarKind,
  value: unknown,
): readonly (readonly [string, ResolvedScalar])[] {
  return texts.map((text) => [text, { kind, value }]);
}

const integer = /^[-+]?(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]*|[1-9][0-9]*)$/;
const float = /^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$/;
const base60 = /^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$/;
const date = /\d{4}-(\d{1,2})-(\d{1,2})/.source;
const timeOfDay = /(\d{1,2}):(\d{1,2}):(\d{1,2})(?:\.\d+)?/.source;
const zone = /(Z|[-+]\d\d:\d\d)/.source;
const timestamp = new RegExp(`^${date}(?:[Tt ]${timeOfDay}${zone}?)?$`);

const maxUint64 = 2n ** 64n - 1n;
const minInt64 = -(2n ** 63n);

/** Resolves a plain scalar without a tag. */
export function resolveScalar(text: string): ResolvedScalar {
  const word = words.get(text);
  if (word !== undefined) return word;
  const asText: ResolvedScalar = { kind: "string", value: text };
  if (!/^[-+.0-9]/.test(text)) return asText;
  if (isTimestamp(text)) return { kind: "timestamp", value: text };
  if (text.startsWith(".")) return floatOf(text) ?? asText;
  const plain = text.replaceAll("_", "");
  return integerOf(plain) ?? floatOf(plain) ?? asText;
}

const resolvable: ReadonlySet<string> = new Set(["bool", "int", "float", "null", "timestamp"]);
/** Names of tags by kind. */
const tagNames: Readonly<Record<ScalarKind, string>> = {
  string: "str",
  null: "null",
  bool: "bool",
  int: "int",
  float: "float",
  timestamp: "timestamp",
  merge: "str",
};

/**
 * Resolves a scalar with the tag `!!name`; one with another tag is a string.
 * @throws YamlFault if the text is not of the tag's type
 */
export function resolveTagged(text: string, name: string): ResolvedScalar {
  if (!resolvable.has(name)) return { kind: "string", value: text };
  const resolved = resolveScalar(text);
  const found = tagNames[resolved.kind];
  if (found === name || (name === "float" && found === "int")) return resolved;
  throw new YamlFault(`yaml: cannot decode !!${found} \`${text}\` as a !!${name}`);
}

/** A decoded value in Go's syntax (`%#v`). */
export function goSyntax(value: unknown): string {
  if (value === null) return "<nil>";
  if (typeof value === "string") return goQuote(value);
  if (Array.isArray(value)) return `[]interface {}{${value.map(goElement).join(", ")}}`;
  if (typeof value !== "object") return String(value);
  const members = Object.entries(value).sort(([a], [b]) => compareUtf8(a, b));
  const shown = members.map(([key, member]) => `${goQuote(key)}:${goElement(member)}`);
  return `map[interface {}]interface {}{${shown.join(", ")}}`;
}

function goElement(value: unknown): string {
  return value === null ? "interface {}(nil)" : goSyntax(value);
}

/** Whether the text as a plain scalar is resolved to the same string. */
export function isPlainText(text: string): boolean {
  return resolveScalar(text).kind === "string" && !base60.test(text);
}

function integerOf(text: string): ResolvedScalar | undefined {
  if (!integer.test(text)) return undefined;
  const negative = text.startsWith("-");
  const digits = text.replace(/^[-+]/, "");
  const octal = /^0[0-7]+$/.test(digits) ? `0o${digits.slice(1)}` : digits;
  if (/^0[oO]$/.test(octal)) return undefined;
  const magnitude = BigInt(octal);
  const value = negative ? -magnitude : magnitude;
  if (value > maxUint64 || value < minInt64) return undefined;
  const number = Number(value);
  return { kind: "int", value: Number.isSafeInteger(number) ? number : value };
}

function floatOf(text: string): ResolvedScalar | undefined {
  if (!float.test(text)) return undefined;
  const value = Number(text);
  return Number.isFinite(value) ? { kind: "float", value } : undefined;
}

function isTimestamp(text: string): boolean {
  const match = timestamp.exec(text);
  if (match === null) return false;
  const [, month = "1", day = "1", hour = "0", minute = "0", second = "0", offset] = match;
  // A space between date and time goes without a zone, a T never does.
  if (match[3] !== undefined && /[Tt]/.test(text) !== (offset !== undefined)) return false;
  return (
    Number(month) >= 1 &&
    Number(month) <= 12 &&
    Number(day) >= 1 &&
    Number(day) <= 31 &&
    Number(hour) < 24 &&
    Number(minute) < 60 &&
    Number(second) < 60
  );
}
