import type { Tracer } from "#request";
import type { TracingConfiguration } from "./configuration.ts";

export interface TracingOptions extends TracingConfiguration {
  /** service.name and service.instance.id of the resource. */
  readonly service: string;
  readonly instance: string;
  /** Called with export errors. */
  readonly report: (error: unknown) => void;
}

export interface RunningTracer {
  readonly tracer: Tracer;
  /** Exports the remaining spans within a few seconds. */
  readonly close: () => Promise<void>;
}
