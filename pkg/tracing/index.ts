/** tracing: OpenTelemetry tracing of requests. */
export { parseTracingConfiguration } from "./configuration.ts";
export type { RunningTracer } from "./tracer-options.ts";
export { startTracing } from "./tracing.ts";
