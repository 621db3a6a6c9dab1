/** Limit in ms for starting requests in one turn of the event loop. */
const maxMs = 8;
/** Limit of waiting requests that are started per turn. */
const perTurn = 64;

/**
 * Starts requests for a limited time per turn of the event loop, in order of arrival; the others
 * wait for the next turns. A request without I/O is served while it is started, so a thousand that
 * arrive together would otherwise block the event loop until the last is served.
 */
export class StartLimiter {
  private began: number | undefined;
  private readonly waiting: (() => void)[] = [];

  constructor(private readonly now: () => number = () => performance.now()) {}

  /** Undefined if the request may start now; otherwise resolves when it may. */
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
    return this.now() - this.began! < maxMs;
  }

  private turn(): void {
    const count = Math.min(this.waiting.length, perTurn);
    this.began = count === 0 ? undefined : this.now();
    // One immediate each, so that the work of one request precedes the time check of the next.
    for (let index = 0; index < count; index++) {
      setImmediate(() => {
        if (index === 0 || this.hasTime) this.waiting.shift()?.();
      });
    }
    if (count > 0) setImmediate(() => this.turn());
  }
}
