/** Counts by topology key and value. */
export class TopologyCounts {
  private readonly counts = new Map<string, Map<string, number>>();

  get isEmpty(): boolean {
    return this.counts.size === 0;
  }

  /** Adds to the domain of a node; ignores nodes without the key. */
  add(labels: Labels, key: string, amount: number): void {
    if (!Object.hasOwn(labels, key)) return;
    const value = labels[key]!;
    const values = this.counts.get(key) ?? new Map<string, number>();
    const sum = (values.get(value) ?? 0) + amount;
    if (sum === 0) values.delete(value);
    else values.set(value, sum);
    if (values.size > 0) this.counts.set(key, values);
    else this.counts.delete(key);
  }

  get(key: string, value: string): number {
    return this.counts.get(key)?.get(value) ?? 0;
  }

  /** Whether any domain of a node has a positive count. */
  hasAny(labels: Labels): boolean {
    for (const [key, values] of this.counts) {
      if (Object.hasOwn(labels, key) && (values.get(labels[key]!) ?? 0) > 0) return true;
    }
    return false;
  }

  /** Sum of the counts of a node's domains. */
  sum(labels: Labels): number {
    let sum = 0;
    for (const [key, values] of this.counts) {
      if (Object.hasOwn(labels, key)) sum += values.get(labels[key]!) ?? 0;
    }
    return sum;
  }

  copy(): TopologyCounts {
    const made = new TopologyCounts();
    for (const [key, values] of this.counts) made.counts.set(key, new Map(values));
    return made;
  }
}
import type { Labels } from "#kinds";
