/** Number of steps over which the end of all watches is spread. */
const steps = 50;

/**
 * Ends watches and other long-running work when the server shuts down. A Set instead of listeners of an
 * AbortSignal, since adding and removing a listener is linear in their number.
 */
export class Shutdown {
  private readonly enders = new Set<() => void>();
  private told = false;
  private begun = false;
  private timer: NodeJS.Timeout | undefined;

  /** True from the start of the shutdown: clients should send new requests to other servers. */
  get announced(): boolean {
    return this.told;
  }

  /** True once the server accepts no more requests. */
  get closing(): boolean {
    return this.begun;
  }

  /**
   * Calls `end` when the server closes, immediately if it is closing already; returns a function that
   * unregisters it.
   */
  add(end: () => void): () => void {
    if (this.begun) end();
    else this.enders.add(end);
    return () => this.enders.delete(end);
  }

  announce(): void {
    this.told = true;
  }

  /** Ends all, evenly over `spreadMs`, so that clients do not reconnect all at once. */
  begin(spreadMs = 0): void {
    this.told = true;
    this.begun = true;
    if (spreadMs <= 0) return this.endSome(this.enders.size);
    const each = Math.ceil(this.enders.size / steps);
    const step = () => {
      this.endSome(each);
      if (this.enders.size > 0) this.timer = setTimeout(step, spreadMs / steps);
    };
    step();
  }

  /** Ends the remaining ones. */
  finish(): void {
    clearTimeout(this.timer);
    this.endSome(this.enders.size);
  }

  private endSome(count: number): void {
    let rest = count;
    for (const end of this.enders) {
      if (rest-- <= 0) return;
      this.enders.delete(end);
      end();
    }
  }
}
