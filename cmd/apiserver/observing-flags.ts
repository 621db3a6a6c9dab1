import { logFormat, loggingFlags } from "../flags/logging-flags.ts";
import { flag, type FlagValues } from "../flags/parse.ts";
import { standardLogger, type StartOptions } from "#controlplane";

/** Flags of what the server tells of its work, named as kube-apiserver names them. */
export const observingFlags = {
  ...loggingFlags,
  profiling: flag("bool", true, "let those who may see /debug/pprof/ measure where time is spent"),
  "tracing-config-file": flag("string", "", "TracingConfiguration: where traces are sent (OTLP)"),
} as const;

export function observingOptions(
  values: FlagValues<typeof observingFlags>,
): Pick<StartOptions, "logger" | "profiling" | "flags"> {
  const format = logFormat(values["logging-format"]);
  return {
    logger: standardLogger(format, values.v),
    profiling: values.profiling,
    flags: shown(values),
  };
}

/** Flags name files with secrets, and hold none. */
function shown(values: object): ReadonlyMap<string, string> {
  const texts = Object.entries(values).map(([name, value]: [string, unknown]): [string, string] => {
    if (!(value instanceof Map)) return [name, String(value)];
    return [name, [...value].map(([key, each]) => `${String(key)}=${String(each)}`).join(",")];
  });
  return new Map(texts);
}
