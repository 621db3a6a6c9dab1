/** tracing: single requests, recorded by OpenTelemetry. */
export { parseTracingConfiguration } from "./configuration.ts";
export { type RunningTracer, startTracing } from "./tracing.ts";
