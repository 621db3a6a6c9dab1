import { type Clock, realClock } from "#base";
import type { Instruments, Query } from "#request";
import { sendText } from "../response/response-writer.ts";
import type { Shutdown } from "../transport/shutdown.ts";
import type { Exchange } from "../transport/exchange.ts";
import { healthMetrics } from "../metrics/definitions.ts";

/** A condition of the server, or of something that it cannot do without. */
export interface HealthCheck {
  readonly name: string;
  /** Throws when it is not well; the text is shown only by the path of this one check. */
  readonly check: () => Promise<void> | void;
  /** Where it counts; absent = everywhere. */
  readonly endpoints?: readonly HealthEndpoint[];
}

export type HealthEndpoint = "healthz" | "livez" | "readyz";

const endpoints: readonly HealthEndpoint[] = ["healthz", "livez", "readyz"];
const fine = { check: () => undefined };
/** Work that a server does once at its start. */
const startPrefix = "poststarthook/";

export interface HealthOptions {
  readonly checks: readonly HealthCheck[];
  readonly closing: Shutdown;
  readonly instruments: Instruments;
  readonly clock: Clock;
  /** For so many milliseconds `/livez` does not mind that the start is not over. */
  readonly livezGraceMs: number;
}

/** Serves `/livez`, `/readyz/<check>` and the like, for any method. */
export class Health {
  private readonly checks: readonly HealthCheck[];
  private readonly patientUntil: number;

  constructor(private readonly options: HealthOptions) {
    const { checks, closing, clock, livezGraceMs } = options;
    const shutdown: HealthCheck = {
      name: "shutdown",
      endpoints: ["readyz"],
      check: () => {
        if (closing.announced) throw new Error("process is shutting down");
      },
    };
    this.checks = [{ name: "ping", ...fine }, { name: "log", ...fine }, ...checks, shutdown];
    this.patientUntil = realClock(clock).monotonic() + livezGraceMs;
  }

  /** Every path that it serves. */
  get paths(): readonly string[] {
    return endpoints.flatMap((endpoint) => [
      `/${endpoint}`,
      ...this.checksOf(endpoint).map(({ name }) => `/${endpoint}/${name}`),
    ]);
  }

  /** False when the path is none of health. */
  async serve(exchange: Exchange, path: string, query: Query): Promise<boolean> {
    const [, first, ...rest] = path.split("/");
    const endpoint = endpoints.find((known) => known === first);
    const name = rest.length === 0 ? undefined : rest.join("/");
    if (endpoint === undefined || name === "") return false;
    const checks = this.checksOf(endpoint);
    if (name === undefined) {
      await this.sendAll(exchange, { endpoint, checks, query });
      return true;
    }
    const check = checks.find((candidate) => candidate.name === name);
    if (check === undefined) return false;
    const fault = await this.faultOf(check, endpoint);
    if (fault === undefined) sendText(exchange, 200, "ok");
    else sendText(exchange, 500, `internal server error: ${fault}\n`);
    return true;
  }

  private checksOf(endpoint: HealthEndpoint): readonly HealthCheck[] {
    return this.checks.filter((check) => check.endpoints?.includes(endpoint) ?? true);
  }

  private async sendAll(
    exchange: Exchange,
    asked: { endpoint: HealthEndpoint; checks: readonly HealthCheck[]; query: Query },
  ): Promise<void> {
    const { endpoint, checks, query } = asked;
    const excluded = new Set(query.all("exclude"));
    let failed = false;
    // Checks run concurrently: several that wait for the same slow dependency time out together.
    const lineOf = async (check: HealthCheck): Promise<string> => {
      if (excluded.delete(check.name)) return `[+]${check.name} excluded: ok`;
      if ((await this.faultOf(check, endpoint)) === undefined) return `[+]${check.name} ok`;
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

  /** The message of a check that fails, undefined for one that passes. */
  private async faultOf(
    { name, check }: HealthCheck,
    endpoint: HealthEndpoint,
  ): Promise<string | undefined> {
    const isPatient = endpoint === "livez" && name.startsWith(startPrefix);
    if (isPatient && realClock(this.options.clock).monotonic() < this.patientUntil)
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

  private count(labels: { readonly name: string; readonly type: string }, isWell: boolean): void {
    const { instruments } = this.options;
    const status = isWell ? "success" : "error";
    instruments.set(healthMetrics.state.name, labels, isWell ? 1 : 0);
    instruments.add(healthMetrics.total.name, { ...labels, status }, 1);
  }
}
