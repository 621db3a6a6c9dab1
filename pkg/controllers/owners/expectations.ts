import type { Clock } from "#base";

/** Time after which expectations expire and the controller trusts its cache. */
const timeoutMs = 300_000;

interface Expectation {
  creations: number;
  /** Keys of objects whose deletion the informer has not shown yet. */
  readonly deletions: Set<string>;
  readonly since: number;
}

/**
 * Creations and deletions of a controller that its informer has not shown yet, by key of the workload. Until
 * then the cache is stale, and a sync would create or delete too many objects.
 */
export class Expectations {
  private readonly byKey = new Map<string, Expectation>();

  constructor(private readonly clock: Clock) {}

  /** Whether the informer has shown all expected changes, or the expectations have expired. */
  areSatisfied(key: string): boolean {
    const expected = this.byKey.get(key);
    if (expected === undefined) return true;
    if (expected.creations <= 0 && expected.deletions.size === 0) return true;
    return this.clock.monotonic() - expected.since > timeoutMs;
  }

  /** Sets the expected number of creations and the keys of expected deletions; replaces earlier ones. */
  expect(key: string, creations: number, deletions: Iterable<string> = []): void {
    const since = this.clock.monotonic();
    this.byKey.set(key, { creations, deletions: new Set(deletions), since });
  }

  /** Also called for creations that failed or were never tried. */
  observeCreations(key: string, count = 1): void {
    const expected = this.byKey.get(key);
    if (expected !== undefined) expected.creations -= count;
  }

  /** Also called for deletions that failed. */
  observeDeletion(key: string, deleted: string): void {
    this.byKey.get(key)?.deletions.delete(deleted);
  }

  forget(key: string): void {
    this.byKey.delete(key);
  }
}
