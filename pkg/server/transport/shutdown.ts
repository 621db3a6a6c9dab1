/** How many steps it takes to end all watches when they are not ended at once. */
const steps = 50;

/**
 * The end of a server, for those that must end with it. A set rather than listeners of one
 * AbortSignal: tens of thousands of watches come and go, and an EventTarget looks through all its
 * listeners each time.
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

  /** True from the moment the server takes no more requests. */
  get closing(): boolean {
    return this.begun;
  }

  /**
   * Calls `end` when the server closes, at once if it is closing already; returns a
   * function that unregisters it.
   */
  add(end: () => void): () => void {
    if (this.begun) end();
    else this.enders.add(end);
    return () => this.enders.delete(end);
  }

  announce(): void {
    this.told = true;
  }

  /** Ends all, evenly over `spreadMs`: clients come back elsewhere, and not all in one moment. */
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

  /** Ends what is left. */
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
