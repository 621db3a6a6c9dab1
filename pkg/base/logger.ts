import { type Clock, systemClock } from "./clock.ts";

/** What a line is about, by name. Never tokens, keys or what objects hold. */
export type LogFields = Readonly<Record<string, string | number | boolean>>;

export interface Logger {
  /** Lines of so much detail are shown: 0 = always, 3 = each request, more = to find faults. */
  shows(level: number): boolean;
  /** One line; for what happens often, ask `shows` first. */
  info(level: number, message: string, fields?: LogFields): void;
  error(message: string, error: unknown, fields?: LogFields): void;
}

/** A logger whose detail can be changed while it works. */
export interface AdjustableLogger extends Logger {
  level: number;
}

export type LogFormat = "text" | "json";

interface LoggerOptions {
  readonly format?: LogFormat;
  readonly level?: number;
  /** Takes a line, without its end. */
  readonly write: (line: string) => void;
  readonly clock?: Clock;
  /** ID of the process, shown in each line of text. */
  readonly processId?: number;
}

interface Line {
  /** Level of an information; absent = an error. */
  readonly level?: number;
  readonly micros: number;
  readonly message: string;
  readonly fields: LogFields;
}

/** Longer values are cut: lines must not grow with what clients send. */
const longestValue = 4096;

export const silentLogger: Logger = {
  shows: () => false,
  info: () => undefined,
  error: () => undefined,
};

/**
 * Lines as klog writes them, so that what reads the logs of Kubernetes reads these:
 *
 *     I1121 16:32:46.123456   12345 keelson] "HTTP" verb="GET" resp=200
 *     {"ts":1795278766123.456,"caller":"keelson","msg":"HTTP","v":3,"verb":"GET","resp":200}
 */
export function createLogger(options: LoggerOptions): AdjustableLogger {
  const { format = "text", level: first = 0, write, clock = systemClock } = options;
  const { processId = 0 } = options;
  const print = format === "json" ? jsonLine : (line: Line) => textLine(line, processId);
  return {
    level: first,
    shows(level) {
      return level <= this.level;
    },
    info(level, message, fields = {}) {
      if (level > this.level) return;
      write(print({ level, micros: clock.nowMicros(), message, fields }));
    },
    error(message, error, fields = {}) {
      const err = error instanceof Error ? error.message : String(error);
      write(print({ micros: clock.nowMicros(), message, fields: { err, ...fields } }));
    },
  };
}

function textLine({ level, micros, message, fields }: Line, processId: number): string {
  const time = new Date(micros / 1000).toISOString();
  const [, month, day, clockTime] = /^\d+-(\d+)-(\d+)T([\d:]+)/.exec(time) ?? [];
  const fraction = String(Math.floor(micros) % 1_000_000).padStart(6, "0");
  const letter = level === undefined ? "E" : "I";
  const pid = String(processId).padStart(7);
  const pairs = Object.entries(fields).map(([name, value]) => ` ${name}=${quotedValue(value)}`);
  const head = `${letter}${month}${day} ${clockTime}.${fraction} ${pid} keelson]`;
  return `${head} ${quotedValue(message)}${pairs.join("")}`;
}

function jsonLine({ level, micros, message, fields }: Line): string {
  const cut = Object.entries(fields).map(([name, value]) => [name, shortened(value)]);
  const line = {
    ts: micros / 1000,
    caller: "keelson",
    msg: shortened(message),
    ...(level === undefined ? {} : { v: level }),
  };
  return JSON.stringify({ ...line, ...Object.fromEntries(cut) });
}

/** Quoted, so that no value can begin a line or a field of its own. */
function quotedValue(value: string | number | boolean): string {
  return typeof value === "string" ? JSON.stringify(shortened(value)) : String(value);
}

function shortened<T extends string | number | boolean>(value: T): T | string {
  if (typeof value !== "string" || value.length <= longestValue) return value;
  return `${value.slice(0, longestValue)}...`;
}
