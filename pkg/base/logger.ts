import { printJson } from "./text/json-text.ts";
import { type Clock, systemClock } from "./clock.ts";

/** Structured fields of a log line. Must not contain tokens, keys or contents of objects. */
export type LogFields = Readonly<Record<string, string | number | boolean>>;

export interface Logger {
  /** Verbosity (`-v`): 0 = always logged, 3 = each request, higher = debugging. */
  shows(level: number): boolean;
  /** Logs a line; for frequent messages, check `shows` first. */
  info(level: number, message: string, fields?: LogFields): void;
  error(message: string, error: unknown, fields?: LogFields): void;
}

/** A logger whose verbosity can be changed at run time. */
export interface AdjustableLogger extends Logger {
  level: number;
}

export type LogFormat = "text" | "json";

interface LoggerOptions {
  readonly format?: LogFormat;
  readonly level?: number;
  /** Writes a line, which has no line break. */
  readonly write: (line: string) => void;
  readonly clock?: Clock;
  /** Process ID in text lines. */
  readonly processId?: number;
}

interface Line {
  /** Verbosity level of an info line; absent = error line. */
  readonly level?: number;
  readonly micros: number;
  readonly message: string;
  readonly fields: LogFields;
}

/** Longer values are truncated, as clients choose some of them. */
const maxValueLength = 4096;

export const silentLogger: Logger = {
  shows: () => false,
  info: () => undefined,
  error: () => undefined,
};

/**
 * Creates a logger with klog's line formats:
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
  return printJson({ ...line, ...Object.fromEntries(cut) });
}

/** Quotes values, which prevents log injection. */
function quotedValue(value: string | number | boolean): string {
  return typeof value === "string" ? JSON.stringify(shortened(value)) : String(value);
}

function shortened<T extends string | number | boolean>(value: T): T | string {
  if (typeof value !== "string" || value.length <= maxValueLength) return value;
  return `${value.slice(0, maxValueLength)}...`;
}
