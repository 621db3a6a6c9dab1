/** Where a server says what it does, as start options say it. */
import { type AdjustableLogger, createLogger, type LogFormat } from "#base";
import type { StartOptions } from "../options.ts";

/** Told of what went wrong behind the scenes. */
type Report = (what: string, error: unknown) => void;

/** Start options of a server that has somewhere to say what it does. */
export interface ResolvedOptions extends StartOptions {
  readonly logger: AdjustableLogger;
  readonly report: Report;
}

/** Writes to standard error. */
export function standardLogger(format: LogFormat = "text", level = 0): AdjustableLogger {
  const write = (line: string) => void process.stderr.write(`${line}\n`);
  return createLogger({ format, level, write, processId: process.pid });
}

/** Whoever wants to be told of what went wrong, and names no logger, is told in place of one. */
export function resolveOptions(options: StartOptions): ResolvedOptions {
  const { report } = options;
  const logger =
    options.logger ?? (report === undefined ? standardLogger() : reportingLogger(report));
  return { ...options, logger, report: report ?? ((what, error) => logger.error(what, error)) };
}

function reportingLogger(report: Report): AdjustableLogger {
  return {
    level: 0,
    shows: () => false,
    info: () => undefined,
    error: (message, error) => report(message, error),
  };
}
