import type { Clock } from "#base";
import { StatusError } from "#meta";
import type { HealthCheck } from "#server";
import type { ResolvedOptions } from "../observability/logging.ts";

/** Names of the hooks, which are those of their health checks. */
const hookNames = [
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

type HookName = (typeof hookNames)[number];

/** Time for which a start waits for an unavailable store; etcd needs seconds to elect a leader. */
const storeTimeoutMs = 30_000;
const retryIntervalMs = 500;

export interface PostStartHookOptions {
  readonly clock: Clock;
  /** Reports each failed attempt that will be retried. */
  readonly report: ResolvedOptions["report"];
  readonly signal: AbortSignal;
}

/** Runs post-start hooks; each is a health check that fails until the hook has run. */
export class PostStartHooks {
  readonly checks: readonly HealthCheck[] = hookNames.map((name) => ({
    name,
    ...(name === "informer-sync" ? { endpoints: ["readyz"] as const } : {}),
    check: () => {
      if (!this.finished.has(name)) throw new Error("not finished");
    },
  }));
  private readonly finished = new Set<HookName>();

  constructor(private readonly options: PostStartHookOptions) {}

  /** Marks hooks as finished without running them. */
  skip(names: readonly HookName[]): void {
    for (const name of names) this.finished.add(name);
  }

  /** Runs the work of some hooks and returns its result; retries it while the store is unavailable. */
  async run<T>(names: readonly HookName[], work: () => Promise<T>): Promise<T> {
    const { clock, report, signal } = this.options;
    const deadline = clock.monotonic() + storeTimeoutMs;
    for (;;) {
      try {
        const result = await work();
        for (const name of names) this.finished.add(name);
        return result;
      } catch (error) {
        if (!isStoreUnavailable(error) || clock.monotonic() >= deadline) throw error;
        report("Failed to reach the store, retrying the start", error);
      }
      await clock.sleep(retryIntervalMs, signal);
    }
  }
}

/** 503 and 504: the store was not reached, or did not confirm the request in time. */
export function isStoreUnavailable(error: unknown): error is StatusError {
  return error instanceof StatusError && (error.code === 503 || error.code === 504);
}
