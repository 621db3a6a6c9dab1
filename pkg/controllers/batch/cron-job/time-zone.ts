/** Calendar arithmetic in time zones of the IANA database. */
import { setBounded } from "#base";

/** Calendar fields of a time in a time zone. */
export interface CalendarTime {
  readonly year: number;
  /** 1 = January. */
  readonly month: number;
  readonly day: number;
  /** 0 = Sunday. */
  readonly weekday: number;
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
}

/** Offsets change only at multiples of this many milliseconds since 1970. */
const offsetBlockMs = 900_000;
const maxBlocks = 10_000;
const maxZones = 500;

/** A time zone with a bounded cache of its UTC offsets. */
export class TimeZone {
  private static readonly zones = new Map<string, TimeZone>();
  private readonly offsets = new Map<number, number>();
  private readonly format: Intl.DateTimeFormat;

  private constructor(name: string | undefined) {
    this.format = new Intl.DateTimeFormat("en-US", {
      ...(name === undefined ? {} : { timeZone: name }),
      calendar: "gregory",
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    });
  }

  /** @param name of the IANA database; undefined = the local zone of the process */
  static of(name: string | undefined): TimeZone {
    const key = name ?? "";
    const zone = TimeZone.zones.get(key) ?? new TimeZone(name);
    setBounded(TimeZone.zones, [key, zone], maxZones);
    return zone;
  }

  /** UTC offset in milliseconds at a time in milliseconds since 1970. */
  offsetAt(ms: number): number {
    const block = Math.floor(ms / offsetBlockMs);
    const known = this.offsets.get(block);
    if (known !== undefined) return known;
    const parts = new Map<string, number>();
    const start = block * offsetBlockMs;
    for (const { type, value } of this.format.formatToParts(start)) parts.set(type, Number(value));
    const part = (type: string) => parts.get(type) ?? 0;
    const local = Date.UTC(
      part("year"),
      part("month") - 1,
      part("day"),
      part("hour"),
      part("minute"),
      part("second"),
    );
    setBounded(this.offsets, [block, local - start], maxBlocks);
    return local - start;
  }

  /** Calendar fields in this zone of a time in milliseconds since 1970. */
  calendarAt(ms: number): CalendarTime {
    const local = new Date(ms + this.offsetAt(ms));
    return {
      year: local.getUTCFullYear(),
      month: local.getUTCMonth() + 1,
      day: local.getUTCDate(),
      weekday: local.getUTCDay(),
      hour: local.getUTCHours(),
      minute: local.getUTCMinutes(),
      second: local.getUTCSeconds(),
    };
  }

  /**
   * Start of a day in milliseconds since 1970. Values out of range carry over. A midnight that an offset
   * change skips or repeats is interpreted in one of the two offsets, like Go's time.Date.
   */
  startOf(year: number, month: number, day: number): number {
    const local = Date.UTC(year, month - 1, day);
    const guess = this.offsetAt(local);
    if (guess === 0) return local;
    const offset = this.offsetAt(local - guess);
    return local - offset;
  }
}
