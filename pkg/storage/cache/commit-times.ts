/** Number of revisions with a recorded time. */
const capacity = 4096;

/** Times at which this process learned of the commit of the most recent revisions. */
export class CommitTimes {
  readonly #revisions = new Float64Array(capacity);
  readonly #times = new Float64Array(capacity);

  /** Records the current time for `revision`, unless it has one. */
  note(revision: number): void {
    const slot = revision % capacity;
    if (this.#revisions[slot]! >= revision) return;
    this.#revisions[slot] = revision;
    this.#times[slot] = performance.now();
  }

  /** Time of a revision as `performance.now()`; undefined if it is unknown or too old. */
  of(revision: number): number | undefined {
    const slot = revision % capacity;
    return this.#revisions[slot] === revision ? this.#times[slot] : undefined;
  }
}
