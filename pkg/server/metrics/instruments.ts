import type { Metric, Registry } from "prom-client";
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
    const get = () => family.get();
    this.registry.registerMetric({ name, get } as unknown as Metric<string>);
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
