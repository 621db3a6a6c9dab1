import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";
import type { StageObserver } from "./chain.ts";

/** What is known of a request when it is over; names are "" where the path led to no resource. */
export interface RequestRecord {
  verb: string;
  group: string;
  version: string;
  resource: string;
  subresource: string;
  scope: "" | "cluster" | "namespace" | "resource";
  dryRun: boolean;
  longRunning: boolean;
  code: number;
}

export type SeatKind = "readOnly" | "mutating" | "watch";

/** Receives the figures of the HTTP layer. */
export interface MetricsSink extends StageObserver {
  /** A finished request; watches count, but their time is not observed. */
  request(record: RequestRecord, seconds: number): void;
  /** Requests at work now. */
  seats(kind: SeatKind, taken: number): void;
  /** All figures in the text format of Prometheus. */
  text(): Promise<string>;
}

const labels = [
  "verb",
  "dry_run",
  "group",
  "version",
  "resource",
  "subresource",
  "scope",
  "component",
] as const;

/** Upper bounds in seconds, those of kube-apiserver, so that its dashboards and alerts fit. */
const buckets = [
  0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45,
  60,
];

const verbNames: Readonly<Record<string, string>> = {
  create: "POST",
  update: "PUT",
  head: "GET",
};
const knownVerbs: ReadonlySet<string> = new Set([
  "GET",
  "LIST",
  "WATCH",
  "POST",
  "PUT",
  "PATCH",
  "DELETE",
  "DELETECOLLECTION",
  "CONNECT",
]);

interface StageSums {
  count: number;
  milliseconds: number;
}

/** Metrics by prom-client, in a registry of its own. */
export class PrometheusMetrics implements MetricsSink {
  private readonly registry = new Registry();
  private readonly requests = new Counter({
    name: "apiserver_request_total",
    help: "Requests by verb, resource and code.",
    labelNames: [...labels, "code"],
    registers: [this.registry],
  });
  private readonly durations = new Histogram({
    name: "apiserver_request_duration_seconds",
    help: "Time from the first byte of a request to the last of its answer, without watches.",
    labelNames: [...labels],
    buckets,
    registers: [this.registry],
  });
  private readonly inFlight = new Gauge({
    name: "apiserver_current_inflight_requests",
    help: "Requests at work now, by kind.",
    labelNames: ["request_kind"],
    registers: [this.registry],
  });
  /** Stages run on every request: their sums are kept in plain numbers until somebody asks. */
  private readonly stages = new Map<string, StageSums>();

  constructor() {
    collectDefaultMetrics({ register: this.registry });
    this.addStageCounter({
      name: "keelson_request_stage_total",
      help: "Passages through a stage of the request path.",
      value: ({ count }) => count,
    });
    this.addStageCounter({
      name: "keelson_request_stage_seconds_total",
      help: "Time spent in a stage before it passed the request on.",
      value: ({ milliseconds }) => milliseconds / 1000,
    });
  }

  stage(name: string, milliseconds: number): void {
    const sums = this.stages.get(name);
    if (sums === undefined) {
      this.stages.set(name, { count: 1, milliseconds });
      return;
    }
    sums.count++;
    sums.milliseconds += milliseconds;
  }

  request(record: RequestRecord, seconds: number): void {
    const upper = (verbNames[record.verb] ?? record.verb).toUpperCase();
    const common = {
      verb: knownVerbs.has(upper) ? upper : "other",
      dry_run: record.dryRun ? "All" : "",
      group: record.group,
      version: record.version,
      resource: record.resource,
      subresource: record.subresource,
      scope: record.scope,
      component: "apiserver",
    };
    this.requests.inc({ ...common, code: record.code });
    if (!record.longRunning) this.durations.observe(common, seconds);
  }

  seats(kind: SeatKind, taken: number): void {
    this.inFlight.set({ request_kind: kind }, taken);
  }

  /** A counter that reads the sums of the stages when somebody asks. */
  private addStageCounter(figure: {
    readonly name: string;
    readonly help: string;
    readonly value: (sums: StageSums) => number;
  }): void {
    const { name, help, value } = figure;
    const { stages } = this;
    const counter = new Counter({
      name,
      help,
      labelNames: ["stage"],
      registers: [],
      collect() {
        this.reset();
        for (const [stage, sums] of stages) this.inc({ stage }, value(sums));
      },
    });
    this.registry.registerMetric(counter);
  }

  text(): Promise<string> {
    return this.registry.metrics();
  }
}
