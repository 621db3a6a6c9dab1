/** Enough to keep the commits of a store full. */
const perTurn = 8;

/**
 * Begins so many pieces of work in one turn of the event loop, in order; the others wait for the
 * next turns. What all clients send at once would else be begun at once: the store would get
 * nothing before the last of it has been read, and the collector would keep all of it alive.
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
