/** Parser of CronJob schedules, with the error messages of Kubernetes. */
import { parseDuration } from "#meta";

interface Bounds {
  readonly least: number;
  readonly most: number;
  readonly names: readonly string[];
}

const months = "jan feb mar apr may jun jul aug sep oct nov dec".split(" ");
const days = "sun mon tue wed thu fri sat".split(" ");

const bounds: readonly Bounds[] = [
  { least: 0, most: 59, names: [] },
  { least: 0, most: 23, names: [] },
  { least: 1, most: 31, names: [] },
  { least: 1, most: 12, names: months },
  { least: 0, most: 6, names: days },
];

/** Descriptors (`@daily`) and their fields. */
const descriptors: ReadonlyMap<string, string> = new Map([
  ["@yearly", "0 0 1 1 *"],
  ["@annually", "0 0 1 1 *"],
  ["@monthly", "0 0 1 * *"],
  ["@weekly", "0 0 * * 0"],
  ["@daily", "0 0 * * *"],
  ["@midnight", "0 0 * * *"],
  ["@hourly", "0 * * * *"],
]);

/** Values that a field of the schedule matches. */
export interface CronField {
  readonly values: ReadonlySet<number>;
  /** Whether the field is `*` or `?`, without a step above 1. */
  readonly isWildcard: boolean;
}

/** A schedule of calendar fields. */
export interface CronFields {
  readonly minute: CronField;
  readonly hour: CronField;
  readonly dayOfMonth: CronField;
  /** 1 = January. */
  readonly month: CronField;
  /** 0 = Sunday. */
  readonly dayOfWeek: CronField;
  /** Zone of the prefix `TZ=` or `CRON_TZ=`; undefined = the local zone of the process. */
  readonly timeZone: string | undefined;
}

/** A parsed schedule: calendar fields, or the constant delay of `@every`. */
export type CronSchedule = CronFields | { readonly everyMs: number };

/** IANA time zone names are case-sensitive; Go adds `Local`. */
export function isTimeZone(name: string): boolean {
  if (name === "Local" || name === "UTC") return true;
  if (!/^[A-Z][\w+-]*(?:\/[A-Z][\w+-]*)*$/.test(name)) return false;
  try {
    const { timeZone } = new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions();
    return timeZone === name || timeZone.toLowerCase() !== name.toLowerCase();
  } catch {
    return false;
  }
}

/** Error message for a schedule; undefined if it is valid. */
export function scheduleFault(schedule: string): string | undefined {
  const parsed = parseCronSchedule(schedule);
  return typeof parsed === "string" ? parsed : undefined;
}

/** Parses a schedule of five fields or a descriptor; returns a message if it is invalid. */
export function parseCronSchedule(schedule: string): CronSchedule | string {
  let text = schedule;
  let timeZone: string | undefined;
  const zoned = /^(?:CRON_)?TZ=(\S*)\s*/.exec(text);
  if (zoned !== null) {
    const zone = zoned[1] ?? "";
    if (!isTimeZone(zone)) return `provided bad location ${zone}: unknown time zone ${zone}`;
    text = text.slice(zoned[0].length);
    timeZone = zone === "Local" ? undefined : zone;
  }
  if (text.startsWith("@every ")) return parseEvery(text);
  if (text.startsWith("@")) {
    const described = descriptors.get(text);
    if (described === undefined) return `unrecognized descriptor: ${text}`;
    text = described;
  }
  const words = text.split(/\s+/).filter((field) => field !== "");
  if (words.length !== bounds.length) {
    const goFields = `[${words.join(" ")}]`;
    return `expected exactly ${bounds.length} fields, found ${words.length}: ${goFields}`;
  }
  const fields: CronField[] = [];
  for (const [index, word] of words.entries()) {
    const field = parseField(word, bounds[index]!);
    if (typeof field === "string") return field;
    fields.push(field);
  }
  const [minute, hour, dayOfMonth, month, dayOfWeek] = fields as [
    CronField,
    CronField,
    CronField,
    CronField,
    CronField,
  ];
  return { minute, hour, dayOfMonth, month, dayOfWeek, timeZone };
}

/** Delays below one second count as one second; fractions of a second are cut. */
function parseEvery(text: string): CronSchedule | string {
  try {
    const seconds = parseDuration(text.slice("@every ".length)) / 1_000_000_000n;
    return { everyMs: Math.max(Number(seconds), 1) * 1000 };
  } catch (fault) {
    return `failed to parse duration ${text}: ${(fault as Error).message}`;
  }
}

function parseField(field: string, limits: Bounds): CronField | string {
  const values = new Set<number>();
  let isWildcard = false;
  for (const range of field.split(",")) {
    if (range === "") continue;
    const parsed = parseRange(range, limits);
    if (typeof parsed === "string") return parsed;
    const { start, end, step } = parsed;
    for (let value = start; value <= end; value += step) values.add(value);
    isWildcard ||= parsed.isWildcard;
  }
  return { values, isWildcard };
}

interface Range {
  readonly start: number;
  readonly end: number;
  readonly step: number;
  readonly isWildcard: boolean;
}

/** `*`, `5`, `1-5`, `1-59/2`; names instead of numbers where there are any. */
function parseRange(range: string, { least, most, names }: Bounds): Range | string {
  const [whole = "", stepText, ...moreSteps] = range.split("/");
  const [low = "", high, ...moreHigh] = whole.split("-");
  const isAll = low === "*" || low === "?";
  const start = isAll ? least : numberOf(low, names);
  if (typeof start === "string") return start;
  if (!isAll && moreHigh.length > 0) return `too many hyphens: ${range}`;
  let end: number | string = isAll ? most : start;
  if (!isAll && high !== undefined) end = numberOf(high, names);
  if (typeof end === "string") return end;
  if (moreSteps.length > 0) return `too many slashes: ${range}`;
  const step = stepText === undefined ? 1 : numberOf(stepText, []);
  if (typeof step === "string") return step;
  if (stepText !== undefined && high === undefined) end = most;
  if (start < least) return `beginning of range (${start}) below minimum (${least}): ${range}`;
  if (end > most) return `end of range (${end}) above maximum (${most}): ${range}`;
  if (start > end) return `beginning of range (${start}) beyond end of range (${end}): ${range}`;
  if (step === 0) return `step of range should be a positive number: ${range}`;
  return { start, end, step, isWildcard: isAll && step === 1 };
}

/** Maximum digits of a number; longer ones are too large, even with leading zeros. */
const maxNumberDigits = 100;

/** Parses a number or name; returns the error message as a string. */
function numberOf(text: string, names: readonly string[]): number | string {
  const named = names.indexOf(text.toLowerCase());
  if (named >= 0) return names === months ? named + 1 : named;
  const prefix = `failed to parse int from ${text}: strconv.Atoi: parsing ${JSON.stringify(text)}`;
  if (!/^[-+]?\d+$/.test(text)) return `${prefix}: invalid syntax`;
  if (text.length > maxNumberDigits || BigInt(text.replace("+", "")) > 2n ** 63n - 1n)
    return `${prefix}: value out of range`;
  const number = Number(text);
  return number < 0 ? `negative number (${number}) not allowed: ${text}` : number;
}
