import type { LogFormat } from "#base";
import { flag } from "./parse.ts";

/** Logging flags, with the names that Kubernetes components use. */
export const loggingFlags = {
  "logging-format": flag("string", "text", "log format", { values: ["text", "json"] }),
  v: flag("int", 0, "log verbosity; at 3 and above, each request is logged", { minimum: 0 }),
} as const;

/** The value of `--logging-format`, which the flag has checked. */
export function logFormat(value: string): LogFormat {
  return value === "json" ? "json" : "text";
}
