/** The log of a server, as start options configure it. */
import { type AdjustableLogger, createLogger, type LogFormat } from "#base";
import type { StartOptions } from "../options.ts";

/** Reports an error outside requests. */
type Report = (what: string, error: unknown) => void;

/** Start options with logger and report filled in. */
export interface ResolvedOptions extends StartOptions {
  readonly logger: AdjustableLogger;
  readonly report: Report;
}

/** Writes to standard error. */
export function standardLogger(format: LogFormat = "text", level = 0): AdjustableLogger {
  const write = (line: string) => void process.stderr.write(`${line}\n`);
  return createLogger({ format, level, write, processId: process.pid });
}

/** Fills in logger and report. With `report` alone, errors of the server go there and nothing is logged. */
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
