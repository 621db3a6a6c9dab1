/** Enough to keep the commits of a store full. */
const perTurn = 8;

/**
 * Starts a limited number of writes per turn of the event loop, in order; the others wait for the
 * next turns. Without it a burst of writes would be decoded as a whole before the store receives
 * the first one, and all of it would stay in memory meanwhile.
 */
export class WriteLimiter {
  private begun = 0;
  private readonly waiting: (() => void)[] = [];

  /** Undefined = it may begin now. */
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
