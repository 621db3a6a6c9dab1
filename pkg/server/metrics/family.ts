import type { MetricDefinition } from "#request";

/** Figures with the same labels: what happens often only adds plain numbers to it. */
export class Series {
  /** Value of a counter or gauge; sum of a histogram. */
  value = 0;
  count = 0;
  /** How many were at most the bucket's bound and above that of the one before. */
  readonly counts: number[];

  constructor(
    readonly labels: readonly string[],
    private readonly bounds: readonly number[],
  ) {
    this.counts = bounds.map(() => 0);
  }

  /** Counts as `weight` observations of the value. */
  observe(value: number, weight = 1): void {
    this.count += weight;
    this.value += value * weight;
    const { bounds } = this;
    let bucket = 0;
    while (bucket < bounds.length && value > bounds[bucket]!) bucket++;
    if (bucket < bounds.length) this.counts[bucket]! += weight;
  }
}

interface Line {
  readonly metricName: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Whatever clients send, a metric has no more series than this; the rest becomes "other". */
const mostSeries = 10_000;
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
    const known = this.series.get(key);
    if (known !== undefined) return known;
    if (this.series.size >= mostSeries) return this.overflow();
    const made = new Series(values, this.bounds);
    this.series.set(key, made);
    return made;
  }

  /** Removes the series with these values of the labels. */
  remove(values: readonly string[]): void {
    this.series.delete(values.join(separator));
  }

  /** All values, and how those of several processes are joined, as prom-client reads them. */
  snapshot() {
    const { kind, addsUp = kind !== "gauge" } = this.definition;
    const aggregator: "sum" | "max" = addsUp ? "sum" : "max";
    const all = [...this.series.values()];
    const values =
      kind === "histogram"
        ? all.filter(({ count }) => count > 0).flatMap((series) => this.buckets(series))
        : all.map((series) => this.line(series));
    return { values, aggregator };
  }

  private overflow(): Series {
    const values = this.definition.labels.map(() => "other");
    const key = values.join(separator);
    const known = this.series.get(key) ?? new Series(values, this.bounds);
    this.series.set(key, known);
    return known;
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
    let below = 0;
    const lines = series.counts.map((own, index) => {
      below += own;
      const le = String(this.bounds[index]);
      return { metricName: `${name}_bucket`, labels: { ...labels, le }, value: below };
    });
    return [
      ...lines,
      { metricName: `${name}_bucket`, labels: { ...labels, le: "+Inf" }, value: series.count },
      { metricName: `${name}_sum`, labels, value: series.value },
      { metricName: `${name}_count`, labels, value: series.count },
    ];
  }
}
