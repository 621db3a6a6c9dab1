import type { Instruments, MetricDefinition } from "#request";

const prefix = "authentication_token_cache";
const labels = ["status"];

/** To be defined to the instruments. */
export const tokenCacheMetrics: readonly MetricDefinition[] = [
  {
    name: `${prefix}_request_duration_seconds`,
    kind: "histogram",
    help: "How long an answer about a token takes.",
    labels,
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  },
  {
    name: `${prefix}_request_total`,
    kind: "counter",
    help: "Questions about tokens.",
    labels,
  },
  {
    name: `${prefix}_fetch_total`,
    kind: "counter",
    help: "Tokens that had to be looked at, or asked about elsewhere.",
    labels,
  },
  {
    name: `${prefix}_active_fetch_count`,
    kind: "gauge",
    help: "Tokens that are being looked at, and questions that wait for that.",
    labels,
    addsUp: true,
  },
];

/** What the caches of tokens tell of themselves, all of a server together. */
export class TokenCacheMetrics {
  private readonly active = { blocked: 0, in_flight: 0 };
  private readonly seconds: Readonly<Record<"hit" | "miss", (value: number) => void>>;

  constructor(private readonly instruments: Instruments) {
    const name = `${prefix}_request_duration_seconds`;
    const secondsOf = (status: string) => instruments.observer(name, { status });
    this.seconds = { hit: secondsOf("hit"), miss: secondsOf("miss") };
  }

  answered(status: "hit" | "miss", milliseconds: number): void {
    this.instruments.add(`${prefix}_request_total`, { status }, 1);
    this.seconds[status](milliseconds / 1000);
  }

  async fetched<T>(fetch: Promise<T>): Promise<T> {
    let status = "error";
    try {
      const answer = await this.during("in_flight", fetch);
      status = "ok";
      return answer;
    } finally {
      this.instruments.add(`${prefix}_fetch_total`, { status }, 1);
    }
  }

  /** While somebody waits for a fetch. */
  waited<T>(answer: Promise<T>): Promise<T> {
    return this.during("blocked", answer);
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
