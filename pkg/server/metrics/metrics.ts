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

/** Kinds of requests that have seats of their own. */
export type SeatKind = "readOnly" | "mutating" | "watch";

/** Everything that one process tells of itself. */
export type MetricsSnapshot = readonly MetricObjectWithValues<MetricValue<string>>[];

interface Series {
  readonly labels: Readonly<Partial<Record<string, string | number>>>;
  readonly value: number;
}

/** The names that Kubernetes gives to stages. */
const filters: ReadonlyMap<string, string> = new Map([
  ["authenticate", "authentication"],
  ["audit", "audit"],
  ["impersonate", "impersonation"],
  ["flowControl", "priorityandfairness"],
  ["authorize", "authorization"],
]);

/** Gauges of the library that are called totals; they exist under their right names, too. */
const misnamed = ["handles", "requests", "resources"].map((what) => `nodejs_active_${what}_total`);

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

/** Everything that a server tells of itself, in a registry of its own. */
export class PrometheusMetrics {
  private readonly registry = new Registry();
  /** Instruments for the metrics of other components of the server. */
  readonly instruments = new ServerInstruments(this.registry);
  readonly requests = new RequestMetrics(this.instruments);
  readonly access = new AccessMetrics(this.instruments);
  readonly watches = new WatchMetrics(this.instruments);
  /** Asks all processes that serve the same port, this one too; none = there are no others. */
  gather: () => Promise<readonly MetricsSnapshot[]> = async () => [];
  private observesProcess = false;

  constructor() {
    this.instruments.define(Object.values(serverMetrics));
    this.instruments.define(Object.values(healthMetrics));
    this.instruments.set(serverMetrics.build.name, buildLabels(), 1);
  }

  /**
   * Collects the metrics of the process (CPU, memory, garbage collections, delay of the event loop)
   * from now on. Called by the first read at the latest.
   */
  observeProcess(): void {
    if (this.observesProcess) return;
    this.observesProcess = true;
    collectDefaultMetrics({ register: this.registry });
    for (const name of misnamed) this.registry.removeSingleMetric(name);
  }

  /** Observer of a stage's latency; undefined for stages that are no filter of kube-apiserver. */
  stage(name: string): StageObserver | undefined {
    const filter = filters.get(name);
    return filter === undefined ? undefined : this.requests.filter(filter);
  }

  /** Something held the event loop for so long. */
  stall(seconds: number): void {
    this.instruments.add(serverMetrics.stalls.name, {}, 1);
    this.instruments.add(serverMetrics.stallSeconds.name, {}, seconds);
  }

  /** Requests at work now. Long ones are counted by what they are. */
  seats(kind: SeatKind, taken: number): void {
    if (kind !== "watch") this.requests.seats(kind, taken);
  }

  /** The series of a metric, as they are now. */
  async series(name: string): Promise<readonly Series[]> {
    const metric = this.instruments.registered().getSingleMetric(name);
    return metric === undefined ? [] : (await metric.get()).values;
  }

  /** All metrics in the Prometheus text format. */
  async text(): Promise<string> {
    return (await this.whole()).metrics();
  }

  /** The metrics of this process alone. */
  async own(): Promise<MetricsSnapshot> {
    return (await this.current()).getMetricsAsJSON();
  }

  /** The results of the health checks, as metrics. */
  async slis(): Promise<string> {
    const names = Object.values(healthMetrics).map(({ name }) => name);
    const registry = await this.whole();
    const texts = names.map((name) => registry.getSingleMetricAsString(name));
    return `${(await Promise.all(texts)).join("\n\n")}\n`;
  }

  private async whole(): Promise<Registry> {
    const all = await this.gather();
    if (all.length > 0) return AggregatorRegistry.aggregate(all.map((snapshot) => [...snapshot]));
    return this.current();
  }

  /** The registry with the values of this moment. */
  private async current(): Promise<Registry> {
    this.observeProcess();
    await this.instruments.refresh();
    return this.instruments.registered();
  }
}
