/** Accessors of timestamps and durations (`getFullYear` etc.). */
import { define, type FunctionDeclaration, type Library, overload } from "../check/declare.ts";
import { goQuote } from "#meta";
import { toInt } from "../value/numbers.ts";
import { CelFault, type Duration, type Timestamp } from "../value/values.ts";

type Part = (local: Date) => number;

const dayMs = 86_400_000;

const parts: Readonly<Record<string, Part>> = {
  getFullYear: (local) => local.getUTCFullYear(),
  getMonth: (local) => local.getUTCMonth(),
  getDayOfYear: (local) => Math.floor((local.getTime() - firstDay(local.getUTCFullYear())) / dayMs),
  getDayOfMonth: (local) => local.getUTCDate() - 1,
  getDate: (local) => local.getUTCDate(),
  getDayOfWeek: (local) => local.getUTCDay(),
  getHours: (local) => local.getUTCHours(),
  getMinutes: (local) => local.getUTCMinutes(),
  getSeconds: (local) => local.getUTCSeconds(),
  getMilliseconds: (local) => local.getUTCMilliseconds(),
};

const spans: Readonly<Record<string, (nanos: bigint) => bigint>> = {
  getHours: (nanos) => nanos / 3_600_000_000_000n,
  getMinutes: (nanos) => nanos / 60_000_000_000n,
  getSeconds: (nanos) => nanos / 1_000_000_000n,
  getMilliseconds: (nanos) => nanos / 1_000_000n,
};

function firstDay(year: number): number {
  const date = new Date(0);
  date.setUTCFullYear(year, 0, 1);
  return date.getTime();
}

function milliseconds({ seconds, nanos }: Timestamp): number {
  return seconds * 1000 + Math.floor(nanos / 1_000_000);
}

/** Cache of time zone formatters, whose creation costs a thousand times more than their use. */
class Zones {
  private readonly formats = new Map<string, Intl.DateTimeFormat>();

  /** The local time in the zone, as a Date in UTC. */
  local(moment: Timestamp, zone: string): Date {
    const time = milliseconds(moment);
    if (zone.includes(":")) return new Date(time + offsetOf(zone) * 60_000);
    if (zone === "UTC" || zone === "" || zone === "Local") return new Date(time);
    const fields = new Map(
      this.format(zone)
        .formatToParts(time)
        .map(({ type, value }) => [type, Number(value)]),
    );
    const at = (name: Intl.DateTimeFormatPartTypes): number => fields.get(name) ?? 0;
    const clock = Date.UTC(
      at("year"),
      at("month") - 1,
      at("day"),
      at("hour"),
      at("minute"),
      at("second"),
    );
    return new Date(clock + (((time % 1000) + 1000) % 1000));
  }

  private format(zone: string): Intl.DateTimeFormat {
    const known = this.formats.get(zone);
    if (known !== undefined) return known;
    const format = zoneFormat(zone);
    // There are some 600 zones, but more spellings of their names.
    if (this.formats.size >= 1_000) this.formats.clear();
    this.formats.set(zone, format);
    return format;
  }
}

/** Offset in minutes east of UTC. */
function offsetOf(zone: string): number {
  const colon = zone.indexOf(":");
  const hours = wholeNumber(zone.slice(0, colon));
  const minutes = wholeNumber(zone.slice(colon + 1));
  return hours * 60 + (zone.startsWith("-") ? -minutes : minutes);
}

function wholeNumber(text: string): number {
  if (/^[+-]?\d{1,18}$/.test(text)) return Number(text);
  throw new CelFault(`strconv.Atoi: parsing ${goQuote(text)}: invalid syntax`);
}

function zoneFormat(zone: string): Intl.DateTimeFormat {
  // Zone names are case-sensitive in Go, where they are file names.
  if (/^[a-z\d+-]/.test(zone)) throw new CelFault(`unknown time zone ${zone}`);
  try {
    return new Intl.DateTimeFormat("en-US", {
      timeZone: zone,
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    });
  } catch (error) {
    if (error instanceof RangeError) throw new CelFault(`unknown time zone ${zone}`);
    throw error;
  }
}

/** The functions with a cache of zones; one per environment. */
export function calendarLibrary(): Library {
  const zones = new Zones();
  const functions = Object.entries(parts).map(([name, part]): FunctionDeclaration => {
    const id = `timestamp_to_${name}`;
    const utc = overload(id, "timestamp.() -> int", (moment: Timestamp) =>
      part(new Date(milliseconds(moment))),
    );
    const zoned = overload(
      `${id}_with_tz`,
      "timestamp.(string) -> int",
      (moment: Timestamp, zone: string) => part(zones.local(moment, zone)),
    );
    const span = spans[name];
    if (span === undefined) return define(name, utc, zoned);
    const ofDuration = overload(`duration_to_${name}`, "duration.() -> int", (value: Duration) =>
      toInt(span(value.nanos)),
    );
    return define(name, utc, zoned, ofDuration);
  });
  return { functions };
}
