import type { LogFormat } from "#base";
import { flag } from "./parse.ts";

/** What programs say of their work, named as in Kubernetes. */
export const loggingFlags = {
  "logging-format": flag("string", "text", "how lines of the log are written", {
    values: ["text", "json"],
  }),
  v: flag("int", 0, "detail of the log; from 3 on each request has a line", { minimum: 0 }),
} as const;

/** The value of `--logging-format`, which the flag has checked. */
export function logFormat(value: string): LogFormat {
  return value === "json" ? "json" : "text";
}
