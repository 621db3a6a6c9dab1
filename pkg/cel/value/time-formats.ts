/** Parsers of the OpenAPI string formats for times, which accept more than CEL's conversions. */
import { parseDurationText, parseTimestampText } from "./time.ts";
import { CelFault, type Duration, type Timestamp } from "./values.ts";

/** Parses the formats `date-time` and `date`: the time and the zone are optional. */
export function parseDateTimeFormat(text: string): Timestamp {
  const [, day = "", time = "00:00:00", zone = "Z"] =
    /^(\d{4}-\d{2}-\d{2})(?:[Tt ]([\d:.]+))?([Zz]|[+-]\d{2}:?\d{2})?$/.exec(text) ?? [];
  const clock = time.length === 5 ? `${time}:00` : time;
  const offset = zone.replace(/^([+-]\d{2})(\d{2})$/, "$1:$2").toUpperCase();
  return parseTimestampText(`${day}T${clock}${offset}`);
}

const words: readonly (readonly [RegExp, string])[] = [
  [/^(?:ns|nanos?|nanoseconds?)$/, "ns"],
  [/^(?:us|\u00b5s|micros?|microseconds?)$/, "us"],
  [/^(?:ms|millis?|milliseconds?)$/, "ms"],
  [/^(?:s|secs?|seconds?)$/, "s"],
  [/^(?:m|mins?|minutes?)$/, "m"],
  [/^(?:h|hrs?|hours?)$/, "h"],
];

/** Parses the format `duration`: Go's notation, or one number with a unit in words. */
export function parseDurationFormat(text: string): Duration {
  const [, count = "", word = ""] = /^(\d{1,18})\s*([A-Za-z\u00b5]+)$/.exec(text) ?? [];
  if (/^d(?:ays?)?$/.test(word)) return parseDurationText(`${BigInt(count) * 24n}h`);
  if (/^(?:w|wks?|weeks?)$/.test(word)) return parseDurationText(`${BigInt(count) * 168n}h`);
  const unit = words.find(([pattern]) => pattern.test(word))?.[1];
  if (unit !== undefined) return parseDurationText(`${count}${unit}`);
  if (word !== "") throw new CelFault(`time: unknown unit in duration ${JSON.stringify(text)}`);
  return parseDurationText(text);
}
