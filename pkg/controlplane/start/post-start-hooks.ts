import type { Clock } from "#base";
import { StatusError } from "#meta";
import type { HealthCheck } from "#server";
import type { ResolvedOptions } from "../observability/logging.ts";

/** What a server does once at its start, by the names that its health gives them. */
const steps = [
  "poststarthook/start-system-namespaces-controller",
  "poststarthook/scheduling/bootstrap-system-priority-classes",
  "poststarthook/rbac/bootstrap-roles",
  "poststarthook/start-legacy-token-tracking-controller",
  "poststarthook/priority-and-fairness-config-producer",
  "poststarthook/start-apiextensions-controllers",
  "poststarthook/crd-informer-synced",
  "poststarthook/bootstrap-controller",
  "poststarthook/start-service-ip-repair-controllers",
  "informer-sync",
] as const;

type Step = (typeof steps)[number];

/** Until a store that gives no answer is given up; electing a leader takes etcd a few seconds. */
const patienceMs = 30_000;
const pauseMs = 500;

export interface PostStartHookOptions {
  readonly clock: Clock;
  /** Told of every attempt that failed and is made again. */
  readonly report: ResolvedOptions["report"];
  readonly signal: AbortSignal;
}

/** The steps of a start; each is a check that fails until it is done. */
export class PostStartHooks {
  readonly checks: readonly HealthCheck[] = steps.map((name) => ({
    name,
    ...(name === "informer-sync" ? { endpoints: ["readyz"] as const } : {}),
    check: () => {
      if (!this.finished.has(name)) throw new Error("not finished");
    },
  }));
  private readonly finished = new Set<Step>();

  constructor(private readonly options: PostStartHookOptions) {}

  /** Does the work of some steps, again while the store is not there: it may be starting, too. */
  async run(names: readonly Step[], work: () => Promise<unknown>): Promise<void> {
    const { clock, report, signal } = this.options;
    const patientUntil = clock.monotonic() + patienceMs;
    for (;;) {
      try {
        await work();
        break;
      } catch (error) {
        if (!isStoreUnavailable(error) || clock.monotonic() >= patientUntil) throw error;
        report("start", error);
      }
      await clock.sleep(pauseMs, signal);
    }
    for (const name of names) this.finished.add(name);
  }
}

/** 503 and 504: the store was not reached, or did not say whether it did what it was asked. */
export function isStoreUnavailable(error: unknown): error is StatusError {
  return error instanceof StatusError && (error.code === 503 || error.code === 504);
}
