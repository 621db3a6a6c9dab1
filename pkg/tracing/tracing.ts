import type { RunningTracer, TracingOptions } from "./tracer-options.ts";

/** Starts a tracer. The OpenTelemetry packages are loaded on the first call. */
export async function startTracing(options: TracingOptions): Promise<RunningTracer> {
  const { openTelemetryTracer } = await import("./open-telemetry.ts");
  return openTelemetryTracer(options);
}
