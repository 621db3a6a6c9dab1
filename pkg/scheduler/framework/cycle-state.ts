import type { CountedPlugin } from "./framework-metrics.ts";

/** Data that plugins keep for one attempt to schedule a pod. */
export class CycleState {
  private readonly data = new Map<string, { copy?(): unknown }>();
  /** Plugins whose Filter or Score does not run for this pod. */
  readonly skippedFilters = new Set<string>();
  readonly skippedScores = new Set<string>();
  /** Whether the plugins of this attempt are timed. */
  recordsPluginMetrics = false;
  /** Plugins whose Filter runs for this pod, once PreFilter has run. */
  activeFilters: readonly CountedPlugin[] | undefined;

  /** What the plugin has written, or undefined. The plugin knows the type by its key. */
  read<T>(key: string): T | undefined {
    return this.data.get(key) as T | undefined;
  }

  /** Data with a method `copy` is copied with the state, other data is shared. */
  write(key: string, data: object): void {
    this.data.set(key, data);
  }

  copy(): CycleState {
    const made = new CycleState();
    made.recordsPluginMetrics = this.recordsPluginMetrics;
    for (const [key, data] of this.data) {
      made.data.set(key, (data.copy?.() ?? data) as { copy?(): unknown });
    }
    for (const name of this.skippedFilters) made.skippedFilters.add(name);
    for (const name of this.skippedScores) made.skippedScores.add(name);
    made.activeFilters = this.activeFilters;
    return made;
  }
}
