/** Plugin data of one scheduling cycle. */
export class CycleState {
  private readonly data = new Map<string, { copy?(): unknown }>();

  constructor(
    /** Plugins whose Filter is skipped for this pod; shared by copies. */
    readonly skippedFilters = new Set<string>(),
    readonly skippedScores = new Set<string>(),
  ) {}

  /** Whether the plugins of this attempt are timed. */
  recordsPluginMetrics = false;

  /** Data written under a key; undefined = none. The caller knows its type. */
  read<T>(key: string): T | undefined {
    return this.data.get(key) as T | undefined;
  }

  /** Writes data. Copies of the state copy data that has a method `copy`, and share other data. */
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
