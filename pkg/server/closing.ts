/**
 * The end of a server, for those that must end with it. A set rather than listeners of one
 * AbortSignal: tens of thousands of watches come and go, and an EventTarget looks through all its
 * listeners each time.
 */
export class Closing {
  private readonly enders = new Set<() => void>();
  private begun = false;

  /** True from the moment the server takes no more requests. */
  get closing(): boolean {
    return this.begun;
  }

  /**
   * Calls `end` when the server closes, at once if it is closing already; answers how to forget
   * it.
   */
  add(end: () => void): () => void {
    if (this.begun) end();
    else this.enders.add(end);
    return () => this.enders.delete(end);
  }

  begin(): void {
    this.begun = true;
    for (const end of this.enders) end();
    this.enders.clear();
  }
}
