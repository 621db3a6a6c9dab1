import type { Tracer } from "#request";
import type { TracingConfiguration } from "./configuration.ts";

export interface TracingOptions extends TracingConfiguration {
  /** What records, and which of several. */
  readonly service: string;
  readonly instance: string;
  /** Told of spans that were lost. */
  readonly report: (error: unknown) => void;
}

export interface RunningTracer {
  readonly tracer: Tracer;
  /** Sends what has been recorded, or gives it up after a few seconds. */
  readonly close: () => Promise<void>;
}
