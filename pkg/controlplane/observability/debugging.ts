/** State that a server shows at `/debug/cache`, `/debug/queues`, `/statusz` and `/flagz`. */
import { type Clock, realClock } from "#base";
import { type DebuggingOptions, type PrometheusMetrics, versionInfo } from "#server";
import type { ObjectStore } from "#storage";
import type { ResolvedOptions } from "./logging.ts";

interface ServerState {
  readonly options: ResolvedOptions;
  readonly store: ObjectStore;
  readonly metrics: PrometheusMetrics;
  readonly clock: Clock;
  /** Whether a feature gate is on. */
  readonly gates: (name: string) => boolean;
}

/** Fields of a work queue in `/debug/queues`, by the metric that each is read from. */
const queueMetrics = {
  depth: "workqueue_depth",
  adds: "workqueue_adds_total",
  retries: "workqueue_retries_total",
  unfinishedSeconds: "workqueue_unfinished_work_seconds",
  longestRunningSeconds: "workqueue_longest_running_processor_seconds",
} as const;
const emptyQueue = Object.fromEntries(Object.keys(queueMetrics).map((field) => [field, 0]));

export function debuggingOptions({
  options,
  store,
  metrics,
  clock: given,
  gates,
}: ServerState): DebuggingOptions {
  const clock = realClock(given);
  const started = clock.now();
  const texts = new Map<string, () => string>();
  if (gates("ComponentStatusz")) texts.set("/statusz", () => statusText(started, clock.now()));
  if (gates("ComponentFlagz")) texts.set("/flagz", () => flagsText(options.flags ?? new Map()));
  return {
    logger: options.logger,
    profiling: options.profiling ?? true,
    values: new Map<string, () => object | Promise<object>>([
      ["cache", () => ({ collections: store.statistics() })],
      ["queues", () => queues(metrics)],
    ]),
    texts,
  };
}

async function queues(metrics: PrometheusMetrics): Promise<object> {
  await metrics.instruments.refresh();
  const named = new Map<string, Record<string, number>>();
  for (const [field, metric] of Object.entries(queueMetrics)) {
    for (const { labels, value } of await metrics.series(metric)) {
      const name = String(labels["name"]);
      named.set(name, { ...(named.get(name) ?? emptyQueue), [field]: value });
    }
  }
  const seats = await metrics.series("apiserver_current_inflight_requests");
  return {
    queues: [...named].map(([name, values]) => ({ name, ...values })),
    seats: Object.fromEntries(seats.map(({ labels, value }) => [labels["request_kind"], value])),
  };
}

function header(what: string): string {
  return [
    "",
    `kube-apiserver ${what}`,
    "Warning: This endpoint is not meant to be machine parseable, has no formatting " +
      "compatibility guarantees and is for debugging purposes only.",
    "",
    "",
  ].join("\n");
}

function statusText(started: number, now: number): string {
  const { gitVersion, goVersion, emulationMajor, emulationMinor } = versionInfo();
  const seconds = Math.floor((now - started) / 1000);
  const hours = Math.floor(seconds / 3600);
  const minutes = String(Math.floor(seconds / 60) % 60).padStart(2, "0");
  const rest = String(seconds % 60).padStart(2, "0");
  const lines = [
    `Started: ${new Date(started).toUTCString()}`,
    `Up: ${hours} hr ${minutes} min ${rest} sec`,
    `Go version: ${goVersion}`,
    `Binary version: ${gitVersion}`,
    `Emulation version: ${emulationMajor}.${emulationMinor}`,
    "Paths: /healthz /livez /metrics /readyz /statusz /version",
  ];
  return `${header("statusz")}${lines.join("\n")}\n`;
}

function flagsText(flags: ReadonlyMap<string, string>): string {
  const lines = [...flags].map(([name, value]) => `${name}=${value}\n`).sort();
  return `${header("flags")}${lines.join("")}`;
}
