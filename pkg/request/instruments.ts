/** Figures that parts of the system tell of themselves; who shows them decides how. */

export interface MetricDefinition {
  readonly name: string;
  readonly kind: "counter" | "gauge" | "histogram";
  readonly help: string;
  readonly labels: readonly string[];
  /** Whether the gauges of several processes add up; default: the highest is shown. */
  readonly addsUp?: boolean;
  /** Upper bounds of a histogram. */
  readonly buckets?: readonly number[];
}

export type MetricLabels = Readonly<Record<string, string>>;

/** Takes figures of metrics that were defined to it beforehand. */
export interface Instruments {
  /** To a counter. */
  add(metric: string, labels: MetricLabels, amount: number): void;
  /** Of a gauge. */
  set(metric: string, labels: MetricLabels, value: number): void;
  /** For a histogram. */
  observe(metric: string, labels: MetricLabels, value: number): void;
  /** As `observe`, for what happens often with the same labels. */
  observer(metric: string, labels: MetricLabels): (value: number) => void;
  /** `refresh` is called before figures are read out, for gauges that change by themselves. */
  beforeRead(refresh: () => void | Promise<void>): void;
}

/** Nobody is interested. */
export const noInstruments: Instruments = {
  add: () => undefined,
  set: () => undefined,
  observe: () => undefined,
  observer: () => () => undefined,
  beforeRead: () => undefined,
};
