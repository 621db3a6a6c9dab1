import { collectDefaultMetrics, Counter, Gauge, type Metric, Registry } from "prom-client";
import type { StageObserver } from "./chain.ts";
import { ServerInstruments } from "./metrics/instruments.ts";

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
  /** Something held the event loop for so long. */
  stall(seconds: number): void;
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

type Labels = Readonly<Record<(typeof labels)[number], string>>;

/** Requests that have the same labels. */
interface RequestSums {
  readonly labels: Labels;
  readonly longRunning: boolean;
  /** By status code. */
  readonly codes: Map<number, number>;
  /** How many took no longer than the bucket's bound and longer than that of the one before. */
  readonly buckets: number[];
  count: number;
  seconds: number;
}

/** Metrics by prom-client, in a registry of its own. */
export class PrometheusMetrics implements MetricsSink {
  private readonly registry = new Registry();
  /** For the figures of other parts of the server. */
  readonly instruments = new ServerInstruments(this.registry);
  private readonly inFlight = new Gauge({
    name: "apiserver_current_inflight_requests",
    help: "Requests at work now, by kind.",
    labelNames: ["request_kind"],
    registers: [this.registry],
    collect: () => {
      for (const [kind, taken] of this.taken) this.inFlight.set({ request_kind: kind }, taken);
    },
  });
  private readonly stalls = new Counter({
    name: "keelson_event_loop_stalls_total",
    help: "Times that one piece of work held the event loop noticeably.",
    registers: [this.registry],
  });
  private readonly stalled = new Counter({
    name: "keelson_event_loop_stall_seconds_total",
    help: "Time for which the event loop was held noticeably.",
    registers: [this.registry],
  });
  /** What happens on every request is kept in plain numbers until somebody asks. */
  private readonly stages = new Map<string, StageSums>();
  private readonly sums = new Map<string, RequestSums>();
  private readonly taken = new Map<SeatKind, number>();

  constructor() {
    collectDefaultMetrics({ register: this.registry });
    this.addRequestCounter();
    this.addRequestHistogram();
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
    const { group, version, resource, subresource, scope, dryRun, longRunning } = record;
    const place = `${group}/${version}/${resource}/${subresource}`;
    const key = `${verbLabel(record.verb)} ${place} ${scope}${dryRun}${longRunning}`;
    let sums = this.sums.get(key);
    if (sums === undefined) {
      const bucketless = { codes: new Map<number, number>(), count: 0, seconds: 0 };
      const empty = buckets.map(() => 0);
      sums = { labels: labelsOf(record), longRunning, buckets: empty, ...bucketless };
      this.sums.set(key, sums);
    }
    sums.codes.set(record.code, (sums.codes.get(record.code) ?? 0) + 1);
    if (longRunning) return;
    sums.count++;
    sums.seconds += seconds;
    let bucket = 0;
    while (bucket < buckets.length && seconds > buckets[bucket]!) bucket++;
    if (bucket < buckets.length) sums.buckets[bucket]!++;
  }

  stall(seconds: number): void {
    this.stalls.inc();
    this.stalled.inc(seconds);
  }

  seats(kind: SeatKind, taken: number): void {
    this.taken.set(kind, taken);
  }

  private addRequestCounter(): void {
    const { sums } = this;
    const counter = new Counter({
      name: "apiserver_request_total",
      help: "Requests by verb, resource and code.",
      labelNames: [...labels, "code"],
      registers: [],
      collect() {
        this.reset();
        for (const { labels: common, codes } of sums.values()) {
          for (const [code, count] of codes) this.inc({ ...common, code }, count);
        }
      },
    });
    this.registry.registerMetric(counter);
  }

  /** Built from the sums when somebody asks; the library's own looks up labels on every request. */
  private addRequestHistogram(): void {
    const name = "apiserver_request_duration_seconds";
    const get = () => ({
      name,
      help: "Time from the first byte of a request to the last of its answer, without watches.",
      type: "histogram",
      values: [...this.sums.values()].flatMap((sums) => histogramOf(name, sums)),
    });
    this.registry.registerMetric({ name, get } as unknown as Metric<string>);
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
    this.instruments.refresh();
    return this.registry.metrics();
  }
}

/** What clients make up must not grow the metrics. */
function verbLabel(verb: string): string {
  const upper = verbNames[verb] ?? verb.toUpperCase();
  return knownVerbs.has(upper) ? upper : "other";
}

function labelsOf(record: RequestRecord): Labels {
  return {
    verb: verbLabel(record.verb),
    dry_run: record.dryRun ? "All" : "",
    group: record.group,
    version: record.version,
    resource: record.resource,
    subresource: record.subresource,
    scope: record.scope,
    component: "apiserver",
  };
}

/** The lines of one set of labels; buckets add up. */
function histogramOf(name: string, sums: RequestSums) {
  const { labels: common, buckets: counts, count, seconds } = sums;
  if (count === 0) return [];
  let below = 0;
  const lines = counts.map((own, index) => {
    below += own;
    const le = String(buckets[index]);
    return { metricName: `${name}_bucket`, labels: { le, ...common }, value: below };
  });
  return [
    ...lines,
    { metricName: `${name}_bucket`, labels: { le: "+Inf", ...common }, value: count },
    { metricName: `${name}_sum`, labels: common, value: seconds },
    { metricName: `${name}_count`, labels: common, value: count },
  ];
}
