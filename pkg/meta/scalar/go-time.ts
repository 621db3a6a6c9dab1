import { ScalarFault } from "#schema";

/**
 * Go's `time.Parse` and `Format` for the two layouts of the API: RFC 3339 in seconds (Time), and with
 * exactly six fraction digits (MicroTime). Error messages are Go's, as clients see them.
 */

export interface Instant {
  /** Seconds since 1970, possibly negative. */
  readonly seconds: number;
  readonly nanos: number;
}

type Element = "2006" | "01" | "02" | "15" | "04" | "05" | ".000000" | "Z07:00";

interface Layout {
  readonly text: string;
  /** Elements and the literals between them, in order. */
  readonly steps: readonly (Element | "-" | "T" | ":")[];
}

const date = ["2006", "-", "01", "-", "02", "T", "15", ":", "04", ":", "05"] as const;

const secondsLayout: Layout = {
  text: "2006-01-02T15:04:05Z07:00",
  steps: [...date, "Z07:00"],
};
const microsLayout: Layout = {
  text: "2006-01-02T15:04:05.000000Z07:00",
  steps: [...date, ".000000", "Z07:00"],
};

/** Unix time of Go's zero time, 0001-01-01T00:00:00Z, which is null in JSON. */
const zeroSeconds = -62_135_596_800;

interface Read {
  /** What is left of the text after the element. */
  readonly rest: string;
  readonly value: number;
  readonly nanos?: number;
  /** Names the part that is well-formed but out of range. */
  readonly outOfRange?: string;
}

/** Parses RFC 3339; a fraction is stored in `nanos`. @throws ScalarFault */
export function parseSeconds(text: string): Instant {
  return parse(secondsLayout, text);
}

/** Parses RFC 3339 with exactly six fraction digits. @throws ScalarFault */
export function parseMicros(text: string): Instant {
  return parse(microsLayout, text);
}

export function isZeroTime(instant: Instant): boolean {
  return instant.seconds === zeroSeconds && instant.nanos === 0;
}

/** `2024-01-02T03:04:05Z`. */
export function formatSeconds(instant: Instant): string {
  return `${calendar(instant.seconds)}Z`;
}

/** `2024-01-02T03:04:05.000006Z`, truncated to microseconds. */
export function formatMicros(instant: Instant): string {
  const micros = Math.floor(instant.nanos / 1000);
  return `${calendar(instant.seconds)}.${String(micros).padStart(6, "0")}Z`;
}

function calendar(seconds: number): string {
  const moment = new Date(seconds * 1000);
  const year = moment.getUTCFullYear();
  if (Number.isNaN(year)) return "0001-01-01T00:00:00";
  const sign = year < 0 ? "-" : "";
  const rest = moment.toISOString().slice(-20, -5);
  return `${sign}${String(Math.abs(year)).padStart(4, "0")}${rest}`;
}

function parse(layout: Layout, text: string): Instant {
  const found = new Map<Element, number>();
  let nanos = 0;
  let rest = text;
  for (const [index, step] of layout.steps.entries()) {
    if (step === "-" || step === "T" || step === ":") {
      if (!rest.startsWith(step)) throw cannotParse(layout, text, rest, step);
      rest = rest.slice(1);
      continue;
    }
    const read = readElement(step, rest, layout.steps[index + 1]);
    if (read === undefined) throw cannotParse(layout, text, rest, step);
    if (read.outOfRange !== undefined)
      throw outOfRangeFault(text, `${read.outOfRange} out of range`);
    rest = read.rest;
    nanos = read.nanos ?? nanos;
    found.set(step, read.value);
  }
  if (rest !== "") throw outOfRangeFault(text, `extra text: ${quote(rest)}`);
  return instantOf(found, nanos, text);
}

function instantOf(found: ReadonlyMap<Element, number>, nanos: number, text: string): Instant {
  const part = (element: Element): number => found.get(element) ?? 0;
  const moment = new Date(0);
  moment.setUTCFullYear(part("2006"), part("01") - 1, part("02"));
  const isDay = part("02") >= 1 && moment.getUTCMonth() === part("01") - 1;
  if (!isDay) throw outOfRangeFault(text, "day out of range");
  moment.setUTCHours(part("15"), part("04"), part("05"));
  return { seconds: moment.getTime() / 1000 - part("Z07:00"), nanos };
}

function readElement(element: Element, text: string, next: string | undefined): Read | undefined {
  switch (element) {
    case "2006":
      return /^\d{4}/.test(text)
        ? { rest: text.slice(4), value: Number(text.slice(0, 4)) }
        : undefined;
    case "01":
      return number(text, /^\d\d/, { name: "month", least: 1, most: 12 });
    case "02":
      return number(text, /^\d\d/, { name: "day", least: 0, most: 99 });
    case "15":
      return number(text, /^\d\d?/, { name: "hour", least: 0, most: 23 });
    case "04":
      return number(text, /^\d\d/, { name: "minute", least: 0, most: 59 });
    case "05": {
      const read = number(text, /^\d\d/, { name: "second", least: 0, most: 59 });
      return read === undefined || next === ".000000" ? read : withFraction(read);
    }
    case ".000000":
      return /^[.,]\d{6}/.test(text)
        ? { rest: text.slice(7), value: 0, nanos: Number(text.slice(1, 7)) * 1000 }
        : undefined;
    case "Z07:00":
      return offset(text);
  }
}

function number(
  text: string,
  pattern: RegExp,
  range: { readonly name: string; readonly least: number; readonly most: number },
): Read | undefined {
  const digits = pattern.exec(text)?.[0];
  if (digits === undefined) return undefined;
  const value = Number(digits);
  const rest = text.slice(digits.length);
  return value < range.least || value > range.most
    ? { rest, value, outOfRange: range.name }
    : { rest, value };
}

/** Accepts a fraction after the seconds even if the layout has none, as Go does. */
function withFraction(read: Read): Read {
  const fraction = /^[.,](\d+)/.exec(read.rest);
  if (fraction === null) return read;
  const nanos = Number((fraction[1] ?? "").slice(0, 9).padEnd(9, "0"));
  return { ...read, rest: read.rest.slice(fraction[0].length), nanos };
}

/** Offset in seconds east of UTC. Like Go, accepts 24 hours and 60 minutes. */
function offset(text: string): Read | undefined {
  if (text.startsWith("Z")) return { rest: text.slice(1), value: 0 };
  const match = /^([+-])(\d\d):(\d\d)/.exec(text);
  if (match === null) return undefined;
  const hours = Number(match[2]);
  const minutes = Number(match[3]);
  const rest = text.slice(6);
  const value = (match[1] === "-" ? -1 : 1) * (hours * 60 + minutes) * 60;
  if (minutes > 60) return { rest, value, outOfRange: "time zone offset minute" };
  if (hours > 24) return { rest, value, outOfRange: "time zone offset hour" };
  return { rest, value };
}

function cannotParse(layout: Layout, text: string, rest: string, element: string): ScalarFault {
  const what = `cannot parse ${quote(rest)} as ${quote(element)}`;
  return new ScalarFault(`parsing time ${quote(text)} as ${quote(layout.text)}: ${what}`);
}

function outOfRangeFault(text: string, why: string): ScalarFault {
  return new ScalarFault(`parsing time ${quote(text)}: ${why}`);
}

/** Quotes as package time does: bytes outside printable ASCII become `\xNN`. */
function quote(text: string): string {
  let quoted = "";
  for (const byte of Buffer.from(text, "utf8")) {
    if (byte === 0x22 || byte === 0x5c) quoted += `\\${String.fromCharCode(byte)}`;
    else if (byte < 0x20 || byte >= 0x80) quoted += `\\x${byte.toString(16).padStart(2, "0")}`;
    else quoted += String.fromCharCode(byte);
  }
  return `"${quoted}"`;
}
