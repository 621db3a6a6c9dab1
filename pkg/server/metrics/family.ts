import type { MetricDefinition } from "#request";

/** A time series: the values of a metric for one combination of labels. */
export class Series {
  /** Value of a counter or gauge; sum of a histogram. */
  value = 0;
  count = 0;
  /** Observations per bucket, not cumulative. */
  readonly counts: number[];

  constructor(
    readonly labels: readonly string[],
    private readonly bounds: readonly number[],
  ) {
    this.counts = bounds.map(() => 0);
  }

  /** Adds `weight` observations of the value to a histogram. */
  observe(value: number, weight = 1): void {
    this.count += weight;
    this.value += value * weight;
    const { bounds } = this;
    let bucket = 0;
    while (bucket < bounds.length && value > bounds[bucket]!) bucket++;
    if (bucket < bounds.length) this.counts[bucket]! += weight;
  }

  reset(): void {
    this.value = 0;
    this.count = 0;
    this.counts.fill(0);
  }
}

/** A line of the Prometheus text format. */
interface Line {
  readonly metricName: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Maximum number of series of a metric; further label combinations share the series "other". */
const maxSeries = 10_000;
const separator = "\u0000";

/** All series of one metric. */
export class Family {
  private readonly series = new Map<string, Series>();
  private readonly bounds: readonly number[];

  constructor(readonly definition: MetricDefinition) {
    this.bounds = definition.buckets ?? [];
    if (definition.labels.length === 0 && definition.kind !== "histogram") this.with([]);
  }

  /** The series with these values of the labels, in the order of the definition. */
  with(values: readonly string[]): Series {
    const key = values.length === 1 ? values[0]! : values.join(separator);
    const existing = this.series.get(key);
    if (existing !== undefined) return existing;
    if (this.series.size >= maxSeries) return this.overflow();
    const created = new Series(values, this.bounds);
    this.series.set(key, created);
    return created;
  }

  /** Removes the series with these values of the labels. */
  remove(values: readonly string[]): void {
    this.series.delete(values.join(separator));
  }

  /** Restarts counters and histograms at zero. Gauges are current values and do not change. */
  reset(): void {
    if (this.definition.kind === "gauge") return;
    for (const single of this.series.values()) single.reset();
  }

  /** Values, and the aggregation of those of several processes, in the form of prom-client. */
  snapshot() {
    const { kind, addsUp = kind !== "gauge" } = this.definition;
    const aggregator: "sum" | "max" = addsUp ? "sum" : "max";
    const series = [...this.series.values()];
    const values =
      kind === "histogram"
        ? series.filter(({ count }) => count > 0).flatMap((histogram) => this.buckets(histogram))
        : series.map((single) => this.line(single));
    return { values, aggregator };
  }

  private overflow(): Series {
    const values = this.definition.labels.map(() => "other");
    const key = values.join(separator);
    const other = this.series.get(key) ?? new Series(values, this.bounds);
    this.series.set(key, other);
    return other;
  }

  private line(series: Series): Line {
    const { name } = this.definition;
    return { metricName: name, labels: this.labelsOf(series), value: series.value };
  }

  private labelsOf({ labels }: Series): Record<string, string> {
    const names = this.definition.labels;
    return Object.fromEntries(names.map((name, index) => [name, labels[index] ?? ""]));
  }

  private buckets(series: Series): readonly Line[] {
    const { name } = this.definition;
    const labels = this.labelsOf(series);
    let cumulative = 0;
    const lines = series.counts.map((count, index) => {
      cumulative += count;
      const le = String(this.bounds[index]);
      return { metricName: `${name}_bucket`, labels: { ...labels, le }, value: cumulative };
    });
    return [
      ...lines,
      { metricName: `${name}_bucket`, labels: { ...labels, le: "+Inf" }, value: series.count },
      { metricName: `${name}_sum`, labels, value: series.value },
      { metricName: `${name}_count`, labels, value: series.count },
    ];
  }
}
