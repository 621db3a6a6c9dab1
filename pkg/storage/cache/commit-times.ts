/** Revisions whose times are remembered. */
const remembered = 4096;

/** When this process first learned that a revision was committed, for the newest revisions. */
export class CommitTimes {
  readonly #revisions = new Float64Array(remembered);
  readonly #times = new Float64Array(remembered);

  /** Remembers the present for `revision`, unless it is known. */
  note(revision: number): void {
    const place = revision % remembered;
    if (this.#revisions[place]! >= revision) return;
    this.#revisions[place] = revision;
    this.#times[place] = performance.now();
  }

  /** As `performance.now()`; undefined for a revision that is older or unknown. */
  of(revision: number): number | undefined {
    const place = revision % remembered;
    return this.#revisions[place] === revision ? this.#times[place] : undefined;
  }
}
