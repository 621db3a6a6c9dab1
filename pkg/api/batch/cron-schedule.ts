/** Schedules of the cron table, as Kubernetes reads them, in its words for what is wrong. */
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

const descriptors = [
  "@yearly",
  "@annually",
  "@monthly",
  "@weekly",
  "@daily",
  "@midnight",
  "@hourly",
];

/** Names of the IANA data base are told apart by their case; `Local` is what Go adds. */
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

/** What is wrong with a schedule; undefined if nothing. */
export function scheduleFault(schedule: string): string | undefined {
  let text = schedule;
  const zoned = /^(?:CRON_)?TZ=(\S*)\s*/.exec(text);
  if (zoned !== null) {
    const zone = zoned[1] ?? "";
    if (!isTimeZone(zone)) return `provided bad location ${zone}: unknown time zone ${zone}`;
    text = text.slice(zoned[0].length);
  }
  if (text.startsWith("@")) return descriptorFault(text);
  const fields = text.split(/\s+/).filter((field) => field !== "");
  if (fields.length !== bounds.length) {
    const shown = `[${fields.join(" ")}]`;
    return `expected exactly ${bounds.length} fields, found ${fields.length}: ${shown}`;
  }
  return fields.map((field, index) => fieldFault(field, bounds[index] as Bounds)).find(Boolean);
}

function descriptorFault(text: string): string | undefined {
  if (descriptors.includes(text)) return undefined;
  const every = "@every ";
  if (!text.startsWith(every)) return `unrecognized descriptor: ${text}`;
  try {
    parseDuration(text.slice(every.length));
    return undefined;
  } catch (fault) {
    return `failed to parse duration ${text}: ${(fault as Error).message}`;
  }
}

function fieldFault(field: string, limits: Bounds): string | undefined {
  const ranges = field.split(",").filter((range) => range !== "");
  return ranges.map((range) => rangeFault(range, limits)).find(Boolean);
}

/** `*`, `5`, `1-5`, `1-59/2`; names instead of numbers where there are any. */
function rangeFault(range: string, { least, most, names }: Bounds): string | undefined {
  const [whole = "", step, ...moreSteps] = range.split("/");
  const [low = "", high, ...moreHigh] = whole.split("-");
  const isAll = low === "*" || low === "?";
  const start = isAll ? least : numberOf(low, names);
  if (typeof start === "string") return start;
  if (!isAll && moreHigh.length > 0) return `too many hyphens: ${range}`;
  let end: number | string = isAll ? most : start;
  if (!isAll && high !== undefined) end = numberOf(high, names);
  if (typeof end === "string") return end;
  if (moreSteps.length > 0) return `too many slashes: ${range}`;
  const by = step === undefined ? 1 : numberOf(step, []);
  if (typeof by === "string") return by;
  if (step !== undefined && high === undefined) end = most;
  if (start < least) return `beginning of range (${start}) below minimum (${least}): ${range}`;
  if (end > most) return `end of range (${end}) above maximum (${most}): ${range}`;
  if (start > end) return `beginning of range (${start}) beyond end of range (${end}): ${range}`;
  return by === 0 ? `step of range should be a positive number: ${range}` : undefined;
}

/** Longer ones are too large, whatever their zeros. */
const LONGEST_NUMBER = 100;

/** The number, or what is wrong with it. */
function numberOf(text: string, names: readonly string[]): number | string {
  const named = names.indexOf(text.toLowerCase());
  if (named >= 0) return names === months ? named + 1 : named;
  const prefix = `failed to parse int from ${text}: strconv.Atoi: parsing ${JSON.stringify(text)}`;
  if (!/^[-+]?\d+$/.test(text)) return `${prefix}: invalid syntax`;
  if (text.length > LONGEST_NUMBER || BigInt(text.replace("+", "")) > 2n ** 63n - 1n)
    return `${prefix}: value out of range`;
  const number = Number(text);
  return number < 0 ? `negative number (${number}) not allowed: ${text}` : number;
}
