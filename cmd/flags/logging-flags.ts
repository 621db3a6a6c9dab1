import type { LogFormat } from "#base";
import { flag } from "./parse.ts";

/** Logs flags, with the names of Kubernetes components. */
export const loggingFlags = {
  "logging-format": flag("string", "text", "log format", { values: ["text", "json"] }),
  v: flag("int", 0, "log verbosity; from 3 on each request is logged", { minimum: 0 }),
} as const;

/** The value of `--logging-format`, which the flag has checked. */
export function logFormat(value: string): LogFormat {
  return value === "json" ? "json" : "text";
}
