/** How often it is looked, in milliseconds. */
const interval = 100;
/** A delay of less than this is no stall. */
const tolerated = 50;

/**
 * Notices when one piece of work holds the event loop, and everybody else waits: a timer that comes
 * late says how long.
 */
export class EventLoopLagMonitor {
  private timer: NodeJS.Timeout | undefined;

  /** `report` is called with the duration of each stall, in seconds. */
  constructor(private readonly report: (seconds: number) => void) {}

  start(): void {
    let expected = performance.now() + interval;
    this.timer ??= setInterval(() => {
      const late = performance.now() - expected;
      if (late > tolerated) this.report(late / 1000);
      expected = performance.now() + interval;
    }, interval);
    this.timer.unref();
  }

  stop(): void {
    clearInterval(this.timer);
    this.timer = undefined;
  }
}
