import { Counter, Gauge, Histogram, type Metric, type Registry } from "prom-client";
import { assert } from "#base";
import type { Instruments, MetricDefinition, MetricLabels } from "#request";
import { Family, type Series } from "./family.ts";

/** The metrics of the server's components, exposed through a prom-client registry. */
export class ServerInstruments implements Instruments {
  private readonly families = new Map<string, Family>();
  private readonly refreshers: (() => void | Promise<void>)[] = [];
  /** Metrics that are not registered until the first scrape: servers in tests are rarely scraped. */
  private unregistered: Family[] = [];

  constructor(private readonly registry: Registry) {}

  /** Defines metrics; those that are already defined do not change. */
  define(definitions: readonly MetricDefinition[]): void {
    for (const definition of definitions) this.family(definition);
  }

  /** Returns the metric of a definition; defines it if necessary. */
  family(definition: MetricDefinition): Family {
    const { name } = definition;
    const existing = this.families.get(name);
    if (existing !== undefined) return existing;
    const family = new Family(definition);
    this.families.set(name, family);
    this.unregistered.push(family);
    return family;
  }

  /** The registry with all defined metrics. */
  registered(): Registry {
    for (const family of this.unregistered) this.registry.registerMetric(metricOf(family));
    this.unregistered = [];
    return this.registry;
  }

  add(metric: string, labels: MetricLabels, amount: number): void {
    this.series(metric, labels).value += amount;
  }

  set(metric: string, labels: MetricLabels, value: number): void {
    this.series(metric, labels).value = value;
  }

  remove(metric: string, labels: MetricLabels): void {
    const family = this.families.get(metric);
    family?.remove(family.definition.labels.map((name) => labels[name] ?? ""));
  }

  observe(metric: string, labels: MetricLabels, value: number): void {
    this.series(metric, labels).observe(value);
  }

  observer(metric: string, labels: MetricLabels): (value: number, weight?: number) => void {
    const series = this.series(metric, labels);
    return (value, weight) => series.observe(value, weight);
  }

  beforeRead(refresh: () => void | Promise<void>): void {
    this.refreshers.push(refresh);
  }

  /** Resets all metrics, or those with these names. */
  reset(names: Iterable<string> = this.families.keys()): void {
    for (const name of names) this.families.get(name)?.reset();
  }

  async refresh(): Promise<void> {
    await Promise.all(this.refreshers.map((refresh) => refresh()));
  }

  private series(metric: string, labels: MetricLabels): Series {
    const family = this.families.get(metric);
    assert(family !== undefined, `the metric ${metric} is not defined`);
    return family.with(family.definition.labels.map((name) => labels[name] ?? ""));
  }
}

/** A prom-client metric that reads the values of a family when it is scraped. */
function metricOf(family: Family): Metric {
  switch (family.definition.kind) {
    case "counter":
      return new FamilyCounter(family);
    case "gauge":
      return new FamilyGauge(family);
    case "histogram":
      return new FamilyHistogram(family);
  }
}

function configurationOf({ definition: { name, help } }: Family) {
  return { name, help, registers: [] };
}

class FamilyCounter extends Counter {
  constructor(private readonly family: Family) {
    super(configurationOf(family));
  }

  override async get(): ReturnType<Counter["get"]> {
    return { ...(await super.get()), ...this.family.snapshot() };
  }
}

class FamilyGauge extends Gauge {
  constructor(private readonly family: Family) {
    super(configurationOf(family));
  }

  override async get(): ReturnType<Gauge["get"]> {
    return { ...(await super.get()), ...this.family.snapshot() };
  }
}

class FamilyHistogram extends Histogram {
  /** A histogram without observations, for name, help and type. */
  private readonly empty: Histogram;

  constructor(private readonly family: Family) {
    super(configurationOf(family));
    this.empty = new Histogram(configurationOf(family));
  }

  /** Called by prom-client instead of `get` when it prints text. */
  getForPromString(): ReturnType<Histogram["get"]> {
    return this.get();
  }

  override async get(): ReturnType<Histogram["get"]> {
    return { ...(await this.empty.get()), ...this.family.snapshot() };
  }
}
