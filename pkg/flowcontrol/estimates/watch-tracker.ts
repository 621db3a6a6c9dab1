import type { RequestInfo } from "#request";

/** A field selector with an exact value, other than of the name: such watches are indexed. */
const indexed = /(?:^|,)\s*(?!metadata\.name\b)[^,!=\\]+={1,2}[^,=]/;

/**
 * Counts the watches of this server, to tell how many of them a mutation notifies. Watches of the
 * same resource, namespace and name count as alike. Watches that select an exact value of a field
 * are left out: the dispatcher of watch events finds them by index, and a change concerns few.
 */
export class WatchTracker {
  private readonly counts = new Map<string, number>();

  /** Registers an initialized watch; returns a function that unregisters it, once. */
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

  /** Watches that a mutation of the object may notify. */
  interested({ group, resource, namespace, name }: RequestInfo): number {
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
