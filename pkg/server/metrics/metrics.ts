import { yieldEvery } from "#base";
import {
  AggregatorRegistry,
  collectDefaultMetrics,
  type MetricObjectWithValues,
  type MetricValue,
  Registry,
} from "prom-client";
import type { StageObserver } from "../stages/middleware-chain.ts";
import { AccessMetrics } from "./access.ts";
import { healthMetrics, serverMetrics } from "./definitions.ts";
import { ServerInstruments } from "./instruments.ts";
import { RequestMetrics } from "./requests.ts";
import { WatchMetrics } from "./watching.ts";
import { versionInfo } from "../version.ts";

/** Classes of requests with separate concurrency limits. */
export type SeatKind = "readOnly" | "mutating" | "watch";

/** The metrics of one process. */
export type MetricsSnapshot = readonly MetricObjectWithValues<MetricValue<string>>[];

interface Series {
  readonly labels: Readonly<Partial<Record<string, string | number>>>;
  readonly value: number;
}

/** Names of kube-apiserver's filters, by stage. */
const filters: ReadonlyMap<string, string> = new Map([
  ["authenticate", "authentication"],
  ["audit", "audit"],
  ["impersonate", "impersonation"],
  ["flowControl", "priorityandfairness"],
  ["authorize", "authorization"],
]);

/** Gauges of prom-client that end in `_total` like counters; it has them without the suffix, too. */
const misnamed = ["handles", "requests", "resources"].map((noun) => `nodejs_active_${noun}_total`);

function buildLabels(): Readonly<Record<string, string>> {
  const { buildDate, compiler, gitCommit, gitTreeState, gitVersion, goVersion } = versionInfo();
  const { major, minor, platform } = versionInfo();
  return {
    build_date: buildDate,
    compiler,
    git_commit: gitCommit,
    git_tree_state: gitTreeState,
    git_version: gitVersion,
    go_version: goVersion,
    major,
    minor,
    platform,
  };
}

/** The metrics of a server, in a separate registry. */
export class PrometheusMetrics {
  private readonly registry = new Registry();
  /** Instruments for the metrics of other components of the server. */
  readonly instruments = new ServerInstruments(this.registry);
  readonly requests = new RequestMetrics(this.instruments);
  readonly access = new AccessMetrics(this.instruments);
  readonly watches = new WatchMetrics(this.instruments);
  /** Collects the metrics of all processes that share the port; empty = this is the only one. */
  gather: () => Promise<readonly MetricsSnapshot[]> = async () => [];
  private observesProcess = false;

  constructor() {
    this.instruments.define(Object.values(serverMetrics));
    this.instruments.define(Object.values(healthMetrics));
    this.instruments.set(serverMetrics.build.name, buildLabels(), 1);
  }

  /**
   * Starts collecting process metrics (CPU, memory, garbage collection, event loop lag). The first read
   * calls it, too.
   */
  observeProcess(): void {
    if (this.observesProcess) return;
    this.observesProcess = true;
    collectDefaultMetrics({ register: this.registry });
    for (const name of misnamed) this.registry.removeSingleMetric(name);
  }

  /** Observer of a stage's latency; undefined for stages that are not a filter of kube-apiserver. */
  stage(name: string): StageObserver | undefined {
    const filter = filters.get(name);
    return filter === undefined ? undefined : this.requests.filter(filter);
  }

  /** Counts a stall of the event loop. */
  stall(seconds: number): void {
    this.instruments.add(serverMetrics.stalls.name, {}, 1);
    this.instruments.add(serverMetrics.stallSeconds.name, {}, seconds);
  }

  /** Sets the number of requests in flight. Watches are counted by resource instead. */
  seats(kind: SeatKind, taken: number): void {
    if (kind !== "watch") this.requests.seats(kind, taken);
  }

  /** The current series of a metric. */
  async series(name: string): Promise<readonly Series[]> {
    const metric = this.instruments.registered().getSingleMetric(name);
    return metric === undefined ? [] : (await metric.get()).values;
  }

  /** All metrics in the Prometheus text format. */
  async text(): Promise<string> {
    const registry = await this.merged();
    const names = registry.getMetricsAsArray().map(({ name }) => name);
    return print(registry, names);
  }

  /** Resets the counters and histograms of this process; `slis` = only those of `/metrics/slis`. */
  reset(pages: "all" | "slis"): void {
    const slis = Object.values(healthMetrics).map(({ name }) => name);
    this.instruments.reset(pages === "slis" ? slis : undefined);
  }

  /** The metrics of this process only. */
  async snapshot(): Promise<MetricsSnapshot> {
    return (await this.current()).getMetricsAsJSON();
  }

  /** The metrics of health checks in the Prometheus text format, for `/metrics/slis`. */
  async slis(): Promise<string> {
    const names = Object.values(healthMetrics).map(({ name }) => name);
    return print(await this.merged(), names);
  }

  /** The metrics of all processes. */
  private async merged(): Promise<Registry> {
    const snapshots = await this.gather();
    if (snapshots.length === 0) return this.current();
    return AggregatorRegistry.aggregate(snapshots.map((snapshot) => [...snapshot]));
  }

  /** The metrics of this process, with refreshed values. */
  private async current(): Promise<Registry> {
    this.observeProcess();
    await this.instruments.refresh();
    return this.instruments.registered();
  }
}

/** Prints one metric after the other, as `Registry.metrics()` does, and yields in between. */
async function print(registry: Registry, names: readonly string[]): Promise<string> {
  const pause = yieldEvery();
  const texts: string[] = [];
  for (const name of names) {
    texts.push(await registry.getSingleMetricAsString(name));
    await pause();
  }
  return `${texts.join("\n\n")}\n`;
}
