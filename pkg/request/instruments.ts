/** Metric definitions and the interface through which components record metrics. */

export interface MetricDefinition {
  readonly name: string;
  readonly kind: "counter" | "gauge" | "histogram";
  readonly help: string;
  readonly labels: readonly string[];
  /** Whether the gauge is summed over processes; default: the maximum is reported. */
  readonly addsUp?: boolean;
  /** Upper bounds of a histogram. */
  readonly buckets?: readonly number[];
}

export type MetricLabels = Readonly<Record<string, string>>;

/** Records values of metrics; each metric must have been defined before. */
export interface Instruments {
  /** Adds to a counter. */
  add(metric: string, labels: MetricLabels, amount: number): void;
  /** Sets a gauge. */
  set(metric: string, labels: MetricLabels, value: number): void;
  /** Removes the value of a gauge or counter with these labels. */
  remove(metric: string, labels: MetricLabels): void;
  /** Records a value in a histogram. */
  observe(metric: string, labels: MetricLabels, value: number): void;
  /**
   * A function that does `observe` with fixed labels, for frequent observations. An observation of
   * weight n (default 1) counts as n of the same value.
   */
  observer(metric: string, labels: MetricLabels): (value: number, weight?: number) => void;
  /** Calls `refresh` before each scrape, to update gauges that are computed on demand. */
  beforeRead(refresh: () => void | Promise<void>): void;
}

/** Discards all values. */
export const noInstruments: Instruments = {
  add: () => undefined,
  set: () => undefined,
  remove: () => undefined,
  observe: () => undefined,
  observer: () => () => undefined,
  beforeRead: () => undefined,
};
