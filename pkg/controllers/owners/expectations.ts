import type { Clock } from "#base";

/** After this time a missed event is taken for lost, and the controller acts on what it sees. */
const timeoutMs = 300_000;

interface Expectation {
  creations: number;
  /** Keys of the objects whose deletion is awaited. */
  readonly deletions: Set<string>;
  readonly since: number;
}

/**
 * Changes that a controller has made and its informer has yet to show, by key of the workload. Until
 * they show, the cache is stale, and a controller that counts in it would create or delete twice.
 */
export class Expectations {
  private readonly byKey = new Map<string, Expectation>();

  constructor(private readonly clock: Clock) {}

  /** Whether the informer shows every change that was made, or should have long since. */
  areSatisfied(key: string): boolean {
    const expected = this.byKey.get(key);
    if (expected === undefined) return true;
    if (expected.creations <= 0 && expected.deletions.size === 0) return true;
    return this.clock.monotonic() - expected.since > timeoutMs;
  }

  /** Expects new objects, and the deletion of others by their keys; earlier expectations end. */
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
