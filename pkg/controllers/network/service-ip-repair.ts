import { type Clock, realClock } from "#base";
import type { Registry } from "#registry";

export interface ServiceIpRepairOptions {
  readonly registry: Registry;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly report: (what: string, error: unknown) => void;
}

const intervalMs = 180_000;
const what = "Failed to repair the allocations of Services";

/** Repairs cluster IP and node port allocations every three minutes until the signal aborts. */
export async function runServiceIpRepair(options: ServiceIpRepairOptions): Promise<void> {
  const { registry, clock, signal, report } = options;
  if (registry.repair === undefined) return;
  while (!signal.aborted) {
    try {
      const { conflicts } = await registry.repair();
      if (conflicts.length > 0) report(what, `more than one Service uses ${conflicts.join(", ")}`);
    } catch (error) {
      if (signal.aborted) return;
      report(what, error);
    }
    await realClock(clock)
      .sleep(intervalMs, signal)
      .catch(() => undefined);
  }
}
