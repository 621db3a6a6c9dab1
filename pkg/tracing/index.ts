/** tracing: single requests, recorded by OpenTelemetry. */
export { parseTracingConfiguration, TracingConfigurationFault } from "./configuration.ts";
export { type RunningTracer, startTracing } from "./tracing.ts";
