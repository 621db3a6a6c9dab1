/** Times of CronJob schedules. */
import type { CronFields, CronSchedule } from "#api";
import { type CalendarTime, TimeZone } from "./time-zone.ts";

const secondMs = 1_000;
const minuteMs = 60_000;
const hourMs = 3_600_000;
/** Years to search for the next time of a schedule. */
const searchYears = 5;

/**
 * First scheduled time after `after`, both in milliseconds since 1970; undefined = none within five years.
 */
export function nextTime(schedule: CronSchedule, after: number): number | undefined {
  const whole = Math.floor(after / secondMs) * secondMs;
  if ("everyMs" in schedule) return whole + schedule.everyMs;
  return new FieldSearch(schedule).next(whole + secondMs);
}

/**
 * Last scheduled time in (`from`, `now`]; undefined = none. `@every` counts from `from`.
 */
export function lastTime(schedule: CronSchedule, from: number, now: number): number | undefined {
  const first = nextTime(schedule, from);
  if (first === undefined || first > now) return undefined;
  if ("everyMs" in schedule) {
    return first + Math.floor((now - first) / schedule.everyMs) * schedule.everyMs;
  }
  // Binary search: the next time after `low` is <= `now`, the next time after `high` is > `now`.
  let low = Math.floor(from / secondMs);
  let high = Math.floor(now / secondMs);
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    const next = nextTime(schedule, middle * secondMs);
    if (next !== undefined && next <= now) low = middle;
    else high = middle;
  }
  return nextTime(schedule, low * secondMs);
}

/** Search for the next time that matches the calendar fields, from month to minute. */
class FieldSearch {
  private readonly zone: TimeZone;
  private time = 0;
  /** Whether the smaller fields have been reset to their minimum. */
  private isReset = false;

  constructor(private readonly fields: CronFields) {
    this.zone = TimeZone.of(fields.timeZone);
  }

  next(from: number): number | undefined {
    this.time = from;
    const lastYear = this.calendar().year + searchYears;
    for (;;) {
      if (this.calendar().year > lastYear) return undefined;
      if (!this.advanceMonth() || !this.advanceDay()) continue;
      if (!this.advanceHour() || !this.advanceMinute()) continue;
      const { second } = this.calendar();
      if (second === 0) return this.time;
      this.isReset = true;
      this.time += minuteMs - second * secondMs;
    }
  }

  private calendar(): CalendarTime {
    return this.zone.calendarAt(this.time);
  }

  /** Returns false if the next larger field has changed: the search restarts. */
  private advanceMonth(): boolean {
    for (;;) {
      const { year, month } = this.calendar();
      if (this.fields.month.values.has(month)) return true;
      this.isReset = true;
      this.time = this.zone.startOf(year, month + 1, 1);
      if (this.calendar().month === 1) return false;
    }
  }

  private advanceDay(): boolean {
    for (;;) {
      const { year, month, day, weekday } = this.calendar();
      if (this.matchesDay(day, weekday)) return true;
      this.isReset = true;
      this.time = this.zone.startOf(year, month, day + 1);
      const { hour } = this.calendar();
      // Midnight may not exist on the day on which daylight saving time begins.
      if (hour > 12) this.time += (24 - hour) * hourMs;
      else this.time -= hour * hourMs;
      if (this.calendar().day === 1) return false;
    }
  }

  /**
   * Both day fields must match if one of them is a wildcard; otherwise either one, as in cron(8).
   */
  private matchesDay(day: number, weekday: number): boolean {
    const { dayOfMonth, dayOfWeek } = this.fields;
    const isOfMonth = dayOfMonth.values.has(day);
    const isOfWeek = dayOfWeek.values.has(weekday);
    if (dayOfMonth.isWildcard || dayOfWeek.isWildcard) return isOfMonth && isOfWeek;
    return isOfMonth || isOfWeek;
  }

  private advanceHour(): boolean {
    for (;;) {
      const { hour, minute, second } = this.calendar();
      if (this.fields.hour.values.has(hour)) return true;
      if (!this.isReset) this.time -= minute * minuteMs + second * secondMs;
      this.isReset = true;
      this.time += hourMs;
      if (this.calendar().hour === 0) return false;
    }
  }

  private advanceMinute(): boolean {
    for (;;) {
      const { minute, second } = this.calendar();
      if (this.fields.minute.values.has(minute)) return true;
      if (!this.isReset) this.time -= second * secondMs;
      this.isReset = true;
      this.time += minuteMs;
      if (this.calendar().minute === 0) return false;
    }
  }
}
