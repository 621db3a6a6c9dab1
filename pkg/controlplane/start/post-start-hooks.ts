import type { Clock } from "#base";
import { StatusError } from "#meta";
import type { HealthCheck } from "#server";
import type { ResolvedOptions } from "../observability/logging.ts";

/** Names of the hooks, as health checks. */
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

/** Time for which an unavailable store is retried; etcd needs seconds to elect a leader. */
const patienceMs = 30_000;
const pauseMs = 500;

export interface PostStartHookOptions {
  readonly clock: Clock;
  /** Reports each failed attempt that will be retried. */
  readonly report: ResolvedOptions["report"];
  readonly signal: AbortSignal;
}

/** Runs post-start hooks; each is a health check that fails until the hook has run. */
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

  /** Hooks whose work is done. */
  skip(names: readonly Step[]): void {
    for (const name of names) this.finished.add(name);
  }

  /** Runs the work of some hooks, and retries it while the store is unavailable. */
  async run(names: readonly Step[], work: () => Promise<unknown>): Promise<void> {
    const { clock, report, signal } = this.options;
    const patientUntil = clock.monotonic() + patienceMs;
    for (;;) {
      try {
        await work();
        break;
      } catch (error) {
        if (!isStoreUnavailable(error) || clock.monotonic() >= patientUntil) throw error;
        report("Failed to reach the store, retrying the start", error);
      }
      await clock.sleep(pauseMs, signal);
    }
    this.skip(names);
  }
}

/** 503 and 504: the store was not reached, or did not confirm the request in time. */
export function isStoreUnavailable(error: unknown): error is StatusError {
  return error instanceof StatusError && (error.code === 503 || error.code === 504);
}
