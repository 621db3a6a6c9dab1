import type { Instruments, MetricDefinition } from "#request";

const prefix = "authentication_token_cache";
const labels = ["status"];

/** Definitions to register with the instruments. */
export const tokenCacheMetrics: readonly MetricDefinition[] = [
  {
    name: `${prefix}_request_duration_seconds`,
    kind: "histogram",
    help: "Latency of token authentication through the cache in seconds, by cache hit or miss.",
    labels,
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  },
  {
    name: `${prefix}_request_total`,
    kind: "counter",
    help: "Number of token authentication requests, by cache hit or miss.",
    labels,
  },
  {
    name: `${prefix}_fetch_total`,
    kind: "counter",
    help: "Number of token verifications after a cache miss, by result.",
    labels,
  },
  {
    name: `${prefix}_active_fetch_count`,
    kind: "gauge",
    help: "Number of token verifications in flight, and of requests that wait for one.",
    labels,
    addsUp: true,
  },
];

/** Metrics of the token caches, summed over all caches of a server. */
export class TokenCacheMetrics {
  private readonly active = { blocked: 0, in_flight: 0 };
  private readonly seconds: Readonly<Record<"hit" | "miss", (value: number) => void>>;

  constructor(private readonly instruments: Instruments) {
    const name = `${prefix}_request_duration_seconds`;
    const secondsOf = (status: string) => instruments.observer(name, { status });
    this.seconds = { hit: secondsOf("hit"), miss: secondsOf("miss") };
  }

  /** Counts a request, with its latency. */
  recordRequest(status: "hit" | "miss", milliseconds: number): void {
    this.instruments.add(`${prefix}_request_total`, { status }, 1);
    this.seconds[status](milliseconds / 1000);
  }

  /** Counts a verification as in flight until it ends, and then its result. */
  async whileFetching<T>(fetch: Promise<T>): Promise<T> {
    let status = "error";
    try {
      const result = await this.during("in_flight", fetch);
      status = "ok";
      return result;
    } finally {
      this.instruments.add(`${prefix}_fetch_total`, { status }, 1);
    }
  }

  /** Counts a request as blocked while it waits for a verification in flight. */
  whileBlocked<T>(fetch: Promise<T>): Promise<T> {
    return this.during("blocked", fetch);
  }

  private async during<T>(status: "blocked" | "in_flight", work: Promise<T>): Promise<T> {
    this.change(status, 1);
    try {
      return await work;
    } finally {
      this.change(status, -1);
    }
  }

  private change(status: "blocked" | "in_flight", by: number): void {
    this.active[status] += by;
    this.instruments.set(`${prefix}_active_fetch_count`, { status }, this.active[status]);
  }
}
