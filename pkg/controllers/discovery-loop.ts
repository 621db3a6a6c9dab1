import { idleWhile, plannedEnd } from "#base";
import type { ControllerContext } from "./controller-context.ts";

/** Discovery interval if the client does not notify of changes of the served resources. */
const intervalMs = 30_000;
/** Discovery interval if the client does. */
const notifiedIntervalMs = 600_000;
/** Debounces discovery: changes of the served resources come in bursts. */
const debounceMs = 100;

export interface DiscoveryLoopOptions {
  /** What the resources are for, as error messages name it: "garbage collection". */
  readonly purpose: string;
  /** Discovers the served resources; errors are reported, and discovery is retried after the interval. */
  readonly discover: () => Promise<void>;
}

/** Repeats discovery: when the served resources change, when it is triggered, and at an interval. */
export class DiscoveryLoop {
  private wait = new AbortController();

  constructor(
    private readonly context: ControllerContext,
    private readonly options: DiscoveryLoopOptions,
  ) {}

  /** Runs discovery within milliseconds, once for a burst of calls. */
  trigger(): void {
    this.wait.abort(plannedEnd);
  }

  /** Runs until the signal aborts. */
  async run(): Promise<void> {
    const { client, signal, clock, report } = this.context;
    const { purpose, discover } = this.options;
    const unsubscribe = client.onServed?.(() => this.trigger());
    const isNotified = unsubscribe !== undefined;
    let hasSucceeded = false;
    while (!signal.aborted) {
      this.wait = new AbortController();
      try {
        await discover();
        hasSucceeded = true;
      } catch (error) {
        report(`Failed to discover resources for ${purpose}`, error);
      }
      const either = AbortSignal.any([signal, this.wait.signal]);
      const isCurrent = isNotified && hasSucceeded;
      const ms = isCurrent ? notifiedIntervalMs : intervalMs;
      const idle = idleWhile(() => isCurrent);
      await clock.sleep(ms, either, idle).catch(() => undefined);
      await clock.sleep(debounceMs, signal).catch(() => undefined);
    }
    unsubscribe?.();
  }
}
