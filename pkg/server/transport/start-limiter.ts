/** Longest time in milliseconds for which requests are started in one turn of the event loop. */
const longest = 8;
/** Requests that are resumed per turn at most. */
const perTurn = 64;

/**
 * Starts requests for a bounded time per turn of the event loop, in order of arrival; the others
 * wait for the next turns. A request that ends without I/O is served as it is started, so that a
 * thousand that arrive together would hold up everything else until the last is served.
 */
export class StartLimiter {
  private began: number | undefined;
  private readonly waiting: (() => void)[] = [];

  constructor(private readonly now: () => number = () => performance.now()) {}

  /** Undefined = it may start now. */
  enter(): Promise<void> | undefined {
    if (this.began === undefined) {
      this.began = this.now();
      setImmediate(() => this.turn());
      return undefined;
    }
    if (this.waiting.length === 0 && this.hasTime) return undefined;
    return new Promise((resolve) => this.waiting.push(resolve));
  }

  private get hasTime(): boolean {
    return this.now() - this.began! < longest;
  }

  private turn(): void {
    const count = Math.min(this.waiting.length, perTurn);
    this.began = count === 0 ? undefined : this.now();
    // One immediate each: what one of them starts runs before the next one looks at the time.
    for (let index = 0; index < count; index++) {
      setImmediate(() => {
        if (index === 0 || this.hasTime) this.waiting.shift()?.();
      });
    }
    if (count > 0) setImmediate(() => this.turn());
  }
}
