import { flag } from "../flags/parse.ts";

/** Flags of what the server tells of its work, named as kube-apiserver names them. */
export const observingFlags = {
  "tracing-config-file": flag("string", "", "TracingConfiguration: where traces are sent (OTLP)"),
} as const;
