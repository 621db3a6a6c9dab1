import type { RequestInfo } from "#request";

/** A field selector with `=` on a field other than metadata.name: such watches are indexed. */
const indexed = /(?:^|,)\s*(?!metadata\.name\b)[^,!=\\]+={1,2}[^,=]/;

/**
 * Counts the watches of this server by resource, namespace and name, for the work estimates of
 * mutations. Watches with an indexed field selector are not counted: the watch cache dispatches an
 * event only to the few whose value matches.
 */
export class WatchTracker {
  private readonly counts = new Map<string, number>();

  /** Registers an initialized watch; returns the unregister function, which is idempotent. */
  register(info: RequestInfo, fieldSelector: string): () => void {
    if (indexed.test(fieldSelector)) return () => undefined;
    const { group, resource, namespace, name } = info;
    const key = keyOf(group, resource, namespace, name);
    this.add(key, 1);
    let isRegistered = true;
    return () => {
      if (isRegistered) this.add(key, -1);
      isRegistered = false;
    };
  }

  /** Number of watches that a mutation of the object may notify. */
  interestedWatchCount({ group, resource, namespace, name }: RequestInfo): number {
    if (this.counts.size === 0) return 0;
    let count = this.countOf(keyOf(group, resource, "", ""));
    if (namespace !== "") count += this.countOf(keyOf(group, resource, namespace, ""));
    if (name !== "") count += this.countOf(keyOf(group, resource, namespace, name));
    return count;
  }

  private countOf(key: string): number {
    return this.counts.get(key) ?? 0;
  }

  private add(key: string, by: 1 | -1): void {
    const count = this.countOf(key) + by;
    if (count > 0) this.counts.set(key, count);
    else this.counts.delete(key);
  }
}

function keyOf(group: string, resource: string, namespace: string, name: string): string {
  return `${group}/${resource}/${namespace}/${name}`;
}
