import type { Clock } from "#base";
import { TokenBucket } from "#client";

export interface EvictionRates {
  /** Nodes per second in a healthy zone, and in one without any ready node. */
  readonly nodeEvictionRate: number;
  /** Nodes per second in a large zone in partial disruption. */
  readonly secondaryNodeEvictionRate: number;
  /** Fraction of not ready nodes from which a zone is in partial disruption. */
  readonly unhealthyZoneThreshold: number;
  /** Maximum number of nodes of a small zone, in which partial disruption stops evictions. */
  readonly largeClusterSizeThreshold: number;
}

export type ZoneState = "Initial" | "Normal" | "PartialDisruption" | "FullDisruption";

/** Number of nodes in a zone. */
export interface ZoneCounts {
  readonly ready: number;
  readonly notReady: number;
}

export function zoneStateOf({ ready, notReady }: ZoneCounts, threshold: number): ZoneState {
  if (ready === 0 && notReady > 0) return "FullDisruption";
  const isPartial = notReady > 2 && notReady / (ready + notReady) >= threshold;
  return isPartial ? "PartialDisruption" : "Normal";
}

/** Rate-limited queue of a zone's nodes to taint with NoExecute. */
class TaintQueue {
  private readonly waiting = new Set<string>();
  private rate: number;
  private bucket: TokenBucket | undefined;

  constructor(
    private readonly clock: Clock,
    rate: number,
  ) {
    this.rate = rate;
    this.bucket = bucketOf(clock, rate);
  }

  get size(): number {
    return this.waiting.size;
  }

  add(name: string): void {
    this.waiting.add(name);
  }

  remove(name: string): void {
    this.waiting.delete(name);
  }

  /** Changes the rate; a spent token remains spent. */
  setRate(rate: number): void {
    if (rate === this.rate) return;
    const isSpent = this.bucket === undefined || !this.bucket.tryTake();
    this.rate = rate;
    this.bucket = bucketOf(this.clock, rate);
    if (isSpent) this.bucket?.tryTake();
  }

  /** Takes the next node, if the rate allows. */
  next(): string | undefined {
    const [first] = this.waiting;
    if (first === undefined || this.bucket?.tryTake() !== true) return undefined;
    this.waiting.delete(first);
    return first;
  }
}

function bucketOf(clock: Clock, perSecond: number): TokenBucket | undefined {
  return perSecond > 0 ? new TokenBucket(clock, { perSecond, burst: 1 }) : undefined;
}

/** Change of the state of all zones: evictions stop while no node of the cluster is ready. */
export type Disruption = "unchanged" | "all zones down" | "some zone up again";

/** States and taint queues of all zones. */
export class Zones {
  private readonly states = new Map<string, ZoneState>();
  private readonly queues = new Map<string, TaintQueue>();
  private readonly wakers: (() => void)[] = [];

  constructor(
    private readonly clock: Clock,
    private readonly rates: EvictionRates,
  ) {}

  names(): Iterable<string> {
    return this.queues.keys();
  }

  /** Adds a zone; returns whether it is new. */
  ensure(zone: string): boolean {
    if (this.states.has(zone)) return false;
    this.states.set(zone, "Initial");
    this.queues.set(zone, new TaintQueue(this.clock, this.rates.nodeEvictionRate));
    return true;
  }

  enqueue(zone: string, name: string): void {
    this.ensure(zone);
    this.queues.get(zone)?.add(name);
    for (const wake of this.wakers.splice(0)) wake();
  }

  /** Resolves when a node is queued, or the signal aborts. */
  untilQueued(signal: AbortSignal): Promise<void> {
    const isQueued = [...this.queues.values()].some(({ size }) => size > 0);
    if (isQueued || signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      this.wakers.push(() => {
        signal.removeEventListener("abort", onAbort);
        resolve();
      });
      const onAbort = () => resolve();
      signal.addEventListener("abort", onAbort, { once: true });
    });
  }

  dequeue(name: string): void {
    for (const queue of this.queues.values()) queue.remove(name);
  }

  next(zone: string): string | undefined {
    return this.queues.get(zone)?.next();
  }

  /** Updates zone states and eviction rates from the node counts of a health check. */
  update(counts: ReadonlyMap<string, ZoneCounts>): Disruption {
    const states = new Map<string, ZoneState>();
    for (const [zone, count] of counts) {
      this.ensure(zone);
      states.set(zone, zoneStateOf(count, this.rates.unhealthyZoneThreshold));
    }
    const isDown = (state: ZoneState) => state === "FullDisruption";
    const wasDown = [...counts.keys()].every((zone) => isDown(this.states.get(zone)!));
    const allDown = [...states.values()].every(isDown);
    for (const zone of this.states.keys()) {
      if (counts.has(zone)) continue;
      this.states.delete(zone);
      this.queues.delete(zone);
    }
    if (counts.size === 0) return "unchanged";
    for (const [zone, state] of states) {
      const { ready, notReady } = counts.get(zone)!;
      this.queues.get(zone)!.setRate(allDown ? 0 : this.rateOf(state, ready + notReady));
      this.states.set(zone, state);
    }
    if (allDown === wasDown) return "unchanged";
    return allDown ? "all zones down" : "some zone up again";
  }

  private rateOf(state: ZoneState, size: number): number {
    const { nodeEvictionRate, secondaryNodeEvictionRate, largeClusterSizeThreshold } = this.rates;
    if (state !== "PartialDisruption") return nodeEvictionRate;
    return size > largeClusterSizeThreshold ? secondaryNodeEvictionRate : 0;
  }
}
