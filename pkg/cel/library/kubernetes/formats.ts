/** Kubernetes' format library. */
import {
  isDns1035Label,
  isDns1123Label,
  isDns1123Subdomain,
  isLabelValue,
  isQualifiedName,
} from "#meta";
import { define, type Library, overload } from "../../check/declare.ts";
import { parseTimestampText } from "../../value/time.ts";
import { CelFault, ArrayList, Opaque, OptionalValue, type Value } from "../../value/values.ts";
import { urlFaults } from "./urls.ts";

const namedFormatType = "kubernetes.NamedFormat";

/** Returns the errors of the text; empty if it has the format. */
type Check = (text: string) => readonly string[];

interface NamedFormat {
  readonly check: Check;
  /** Length of the format's pattern in Kubernetes, for costs. */
  readonly patternLength: number;
}

/** The check of a prefix (`generateName`): permits a trailing dash, as in apimachinery. */
function prefixOf(check: Check): Check {
  return (text) => check(text.endsWith("-") && text.length > 1 ? `${text.slice(0, -2)}a` : text);
}

function matching(pattern: RegExp, message: string): Check {
  return (text) => (pattern.test(text) ? [] : [message]);
}

/** Lower-case `t` and `z` are accepted, and any offset. */
function isDateTime(text: string): boolean {
  const [day = "", ...rest] = text.toLowerCase().split("t");
  const time = /^(\d{2}):(\d{2}):(\d{2})(?:.\d+)?(?:z|[+-]\d{2}:\d{2})$/.exec(rest[0] ?? "");
  if (time === null || !isDate(day)) return false;
  const [, hour = "", minute = "", second = ""] = time;
  return hour <= "23" && minute <= "59" && second <= "59";
}

function isDate(text: string): boolean {
  try {
    parseTimestampText(`${text}T00:00:00Z`);
    return true;
  } catch (error) {
    if (error instanceof CelFault) return false;
    throw error;
  }
}

/** Pattern length for `datetime`, for costs. */
const maxDateTimePatternLength = 80;

const checks: Readonly<Record<string, readonly [Check, number]>> = {
  dns1123Label: [isDns1123Label, 30],
  dns1123Subdomain: [isDns1123Subdomain, 60],
  dns1035Label: [isDns1035Label, 30],
  qualifiedName: [isQualifiedName, 60],
  dns1123LabelPrefix: [prefixOf(isDns1123Label), 30],
  dns1123SubdomainPrefix: [prefixOf(isDns1123Subdomain), 60],
  dns1035LabelPrefix: [prefixOf(isDns1035Label), 30],
  labelValue: [isLabelValue, 40],
  uri: [urlFaults, 1_000],
  uuid: [
    matching(
      /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i,
      "does not match the UUID format",
    ),
    67,
  ],
  byte: [
    matching(
      /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$/,
      "invalid base64",
    ),
    92,
  ],
  date: [(text) => (isDate(text) ? [] : ["invalid date"]), maxDateTimePatternLength],
  datetime: [(text) => (isDateTime(text) ? [] : ["invalid datetime"]), maxDateTimePatternLength],
};

const formats: ReadonlyMap<string, Opaque<NamedFormat>> = new Map(
  Object.entries(checks).map(([name, [check, patternLength]]) => [
    name,
    new Opaque(namedFormatType, { check, patternLength }, name),
  ]),
);

function validate({ content }: Opaque<NamedFormat>, text: string): Value {
  const messages = content.check(text);
  return messages.length === 0 ? OptionalValue.none : new OptionalValue(new ArrayList(messages));
}

export const formatLibrary: Library = {
  functions: [
    define(
      "format.named",
      overload("format_named", `(string) -> optional(${namedFormatType})`, (name: string) => {
        const format = formats.get(name);
        return format === undefined ? OptionalValue.none : new OptionalValue(format);
      }),
    ),
    ...[...formats].map(([name, format]) =>
      define(
        `format.${name}`,
        overload(`format_${name}`, `() -> ${namedFormatType}`, () => format),
      ),
    ),
    define(
      "validate",
      overload(
        "format_validate",
        `${namedFormatType}.(string) -> optional(list(string))`,
        validate,
      ),
    ),
  ],
};
