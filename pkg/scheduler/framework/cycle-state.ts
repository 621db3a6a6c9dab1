/** Data that plugins keep for one attempt to schedule a pod. */
export class CycleState {
  private readonly data = new Map<string, { copy?(): unknown }>();

  constructor(
    /** Plugins whose Filter does not run for this pod; copies share them. */
    readonly skippedFilters = new Set<string>(),
    readonly skippedScores = new Set<string>(),
  ) {}

  /** Whether the plugins of this attempt are timed. */
  recordsPluginMetrics = false;

  /** What the plugin has written, or undefined. The plugin knows the type by its key. */
  read<T>(key: string): T | undefined {
    return this.data.get(key) as T | undefined;
  }

  /** Data with a method `copy` is copied with the state, other data is shared. */
  write(key: string, data: object): void {
    this.data.set(key, data);
  }

  copy(): CycleState {
    const made = new CycleState(this.skippedFilters, this.skippedScores);
    made.recordsPluginMetrics = this.recordsPluginMetrics;
    for (const [key, data] of this.data) {
      made.data.set(key, (data.copy?.() ?? data) as { copy?(): unknown });
    }
    return made;
  }
}
