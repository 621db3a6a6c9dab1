import { logFormat, loggingFlags } from "../flags/logging-flags.ts";
import { flag, type FlagValues } from "../flags/parse.ts";
import { standardLogger, type StartOptions } from "#controlplane";

export const featureFlags = {
  profiling: flag("bool", true, "serve profiles at /debug/pprof/ to authorized users"),
} as const;

export const logFlags = loggingFlags;

export const traceFlags = {
  "tracing-config-file": flag(
    "string",
    "",
    "file with the TracingConfiguration, which sets the OTLP endpoint and the sampling rate",
  ),
} as const;

type Values = FlagValues<typeof featureFlags & typeof logFlags>;

export function observingOptions(
  values: Values,
): Pick<StartOptions, "logger" | "profiling" | "flags"> {
  const format = logFormat(values["logging-format"]);
  return {
    logger: standardLogger(format, values.v),
    profiling: values.profiling,
    flags: shown(values),
  };
}

/** Values of all flags for /flagz. Flags name the files of secrets but never contain secrets. */
function shown(values: object): ReadonlyMap<string, string> {
  const texts = Object.entries(values).map(([name, value]: [string, unknown]): [string, string] => {
    if (!(value instanceof Map)) return [name, String(value)];
    return [name, [...value].map(([key, each]) => `${String(key)}=${String(each)}`).join(",")];
  });
  return new Map(texts);
}
