import { type Clock, realClock } from "#base";
import type { Instruments, Query } from "#request";
import { sendText } from "../response/response-writer.ts";
import type { Shutdown } from "../transport/shutdown.ts";
import type { Exchange } from "../transport/exchange.ts";
import { healthMetrics } from "../metrics/definitions.ts";

/** A health check of the server or of one of its dependencies. */
export interface HealthCheck {
  readonly name: string;
  /** Throws on failure; only the path of the individual check shows the message. */
  readonly check: () => Promise<void> | void;
  /** Endpoints that run the check; absent = all. */
  readonly endpoints?: readonly HealthEndpoint[];
}

export type HealthEndpoint = "healthz" | "livez" | "readyz";

const endpoints: readonly HealthEndpoint[] = ["healthz", "livez", "readyz"];
const alwaysPasses = { check: () => undefined };
/** Prefix of the checks that pass when a post-start hook has finished. */
const postStartHookPrefix = "poststarthook/";

export interface HealthOptions {
  readonly checks: readonly HealthCheck[];
  readonly closing: Shutdown;
  readonly instruments: Instruments;
  readonly clock: Clock;
  /** Time in ms from the start for which `/livez` ignores post-start hooks (--livez-grace-period). */
  readonly livezGraceMs: number;
}

/** Serves `/healthz`, `/livez`, `/readyz` and their individual checks, for any method. */
export class Health {
  private readonly checks: readonly HealthCheck[];
  private readonly livezGraceEnd: number;

  constructor(private readonly options: HealthOptions) {
    const { checks, closing, clock, livezGraceMs } = options;
    const shutdown: HealthCheck = {
      name: "shutdown",
      endpoints: ["readyz"],
      check: () => {
        if (closing.announced) throw new Error("process is shutting down");
      },
    };
    this.checks = [
      { name: "ping", ...alwaysPasses },
      { name: "log", ...alwaysPasses },
      ...checks,
      shutdown,
    ];
    this.livezGraceEnd = realClock(clock).monotonic() + livezGraceMs;
  }

  /** The paths of all checks. */
  get paths(): readonly string[] {
    return endpoints.flatMap((endpoint) => [
      `/${endpoint}`,
      ...this.checksOf(endpoint).map(({ name }) => `/${endpoint}/${name}`),
    ]);
  }

  /** Responds to a request; false = there is no such endpoint or check. */
  async serve(exchange: Exchange, path: string, query: Query): Promise<boolean> {
    const [, first, ...rest] = path.split("/");
    const endpoint = endpoints.find((candidate) => candidate === first);
    const name = rest.length === 0 ? undefined : rest.join("/");
    if (endpoint === undefined || name === "") return false;
    const checks = this.checksOf(endpoint);
    if (name === undefined) {
      await this.sendAll(exchange, { endpoint, checks, query });
      return true;
    }
    const check = checks.find((candidate) => candidate.name === name);
    if (check === undefined) return false;
    const failure = await this.run(check, endpoint);
    if (failure === undefined) sendText(exchange, 200, "ok");
    else sendText(exchange, 500, `internal server error: ${failure}\n`);
    return true;
  }

  private checksOf(endpoint: HealthEndpoint): readonly HealthCheck[] {
    return this.checks.filter((check) => check.endpoints?.includes(endpoint) ?? true);
  }

  private async sendAll(
    exchange: Exchange,
    request: { endpoint: HealthEndpoint; checks: readonly HealthCheck[]; query: Query },
  ): Promise<void> {
    const { endpoint, checks, query } = request;
    const excluded = new Set(query.all("exclude"));
    let failed = false;
    // Checks run concurrently, so that those of one slow dependency time out at the same time.
    const lineOf = async (check: HealthCheck): Promise<string> => {
      if (excluded.delete(check.name)) return `[+]${check.name} excluded: ok`;
      if ((await this.run(check, endpoint)) === undefined) return `[+]${check.name} ok`;
      failed = true;
      return `[-]${check.name} failed: reason withheld`;
    };
    const lines = await Promise.all(checks.map(lineOf));
    if (excluded.size > 0) {
      const names = [...excluded].sort().map((name) => JSON.stringify(name));
      lines.push(`warn: some health checks cannot be excluded: no matches for ${names.join(", ")}`);
    }
    const verbose = `${lines.join("\n")}\n${endpoint} check ${failed ? "failed" : "passed"}\n`;
    if (failed) return sendText(exchange, 500, verbose);
    sendText(exchange, 200, query.has("verbose") ? verbose : "ok");
  }

  /** Runs a check; returns the message of its failure, or undefined if it passes. */
  private async run(
    { name, check }: HealthCheck,
    endpoint: HealthEndpoint,
  ): Promise<string | undefined> {
    const mayBeInGracePeriod = endpoint === "livez" && name.startsWith(postStartHookPrefix);
    if (mayBeInGracePeriod && realClock(this.options.clock).monotonic() < this.livezGraceEnd)
      return undefined;
    try {
      await check();
      this.count({ name, type: endpoint }, true);
      return undefined;
    } catch (error) {
      this.count({ name, type: endpoint }, false);
      return error instanceof Error ? error.message : String(error);
    }
  }

  private count(labels: { readonly name: string; readonly type: string }, passed: boolean): void {
    const { instruments } = this.options;
    const status = passed ? "success" : "error";
    instruments.set(healthMetrics.state.name, labels, passed ? 1 : 0);
    instruments.add(healthMetrics.total.name, { ...labels, status }, 1);
  }
}
