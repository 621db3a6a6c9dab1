/** Writes started per turn, enough to fill the group commits of a store. */
const perTurn = 8;

/**
 * Starts a limited number of writes per turn of the event loop, in order; the others wait for the
 * next turns. Without it all writes of a burst would be decoded, and held in memory, before the store
 * receives the first one.
 */
export class WriteLimiter {
  private begun = 0;
  private readonly waiting: (() => void)[] = [];

  /** Undefined if the write may start now; otherwise resolves when it may. */
  enter(): Promise<void> | undefined {
    if (this.begun === 0) setImmediate(() => this.turn());
    if (this.begun === perTurn) return new Promise((resolve) => this.waiting.push(resolve));
    this.begun += 1;
    return undefined;
  }

  private turn(): void {
    const next = this.waiting.splice(0, perTurn);
    this.begun = next.length;
    if (next.length > 0) setImmediate(() => this.turn());
    for (const begin of next) begin();
  }
}
