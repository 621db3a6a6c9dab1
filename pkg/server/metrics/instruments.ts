import { Gauge, type Registry } from "prom-client";
import { assert } from "#base";
import type { Instruments, MetricDefinition, MetricLabels } from "#request";
import { Family, type Series } from "./family.ts";

/** Shows what the parts of the server tell of themselves. */
export class ServerInstruments implements Instruments {
  private readonly families = new Map<string, Family>();
  private readonly refreshers: (() => void | Promise<void>)[] = [];

  constructor(private readonly registry: Registry) {}

  /** Makes metrics known; one that is known already stays as it is. */
  define(definitions: readonly MetricDefinition[]): void {
    for (const definition of definitions) this.family(definition);
  }

  /** The metric of a definition, which is made known if it is not. */
  family(definition: MetricDefinition): Family {
    const { name } = definition;
    const known = this.families.get(name);
    if (known !== undefined) return known;
    const family = new Family(definition);
    this.families.set(name, family);
    this.registry.registerMetric(new FamilyMetric(family));
    return family;
  }

  add(metric: string, labels: MetricLabels, amount: number): void {
    this.series(metric, labels).value += amount;
  }

  set(metric: string, labels: MetricLabels, value: number): void {
    this.series(metric, labels).value = value;
  }

  observe(metric: string, labels: MetricLabels, value: number): void {
    this.series(metric, labels).observe(value);
  }

  observer(metric: string, labels: MetricLabels): (value: number) => void {
    const series = this.series(metric, labels);
    return (value) => series.observe(value);
  }

  beforeRead(refresh: () => void | Promise<void>): void {
    this.refreshers.push(refresh);
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

/** A family as a metric of prom-client, which asks for its values when it is scraped. */
class FamilyMetric extends Gauge {
  constructor(private readonly family: Family) {
    const { name, help } = family.definition;
    super({ name, help, registers: [] });
  }

  /** Type and values are those of the family, also of counters and histograms. */
  override async get(): ReturnType<Gauge["get"]> {
    return { ...(await super.get()), ...this.family.get() };
  }
}
