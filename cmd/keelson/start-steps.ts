import type { HealthCheck } from "#server";

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

/** The steps of a start; each is a check that fails until it is done. */
export class StartSteps {
  readonly checks: readonly HealthCheck[] = steps.map((name) => ({
    name,
    ...(name === "informer-sync" ? { endpoints: ["readyz"] as const } : {}),
    check: () => {
      if (!this.finished.has(name)) throw new Error("not finished");
    },
  }));
  private readonly finished = new Set<Step>();

  /** Does the work of some steps. */
  async run(names: readonly Step[], work: Promise<unknown>): Promise<void> {
    await work;
    for (const name of names) this.finished.add(name);
  }
}
