/** Interval of the timer in milliseconds. */
const interval = 100;
/** Delay of the timer in milliseconds above which it is reported as a stall. */
const threshold = 50;

/** Detects stalls of the event loop by the delay of a periodic timer. */
export class EventLoopLagMonitor {
  private timer: NodeJS.Timeout | undefined;

  /** `report` is called with the duration of each stall in seconds. */
  constructor(private readonly report: (seconds: number) => void) {}

  start(): void {
    let expected = performance.now() + interval;
    this.timer ??= setInterval(() => {
      const delay = performance.now() - expected;
      if (delay > threshold) this.report(delay / 1000);
      expected = performance.now() + interval;
    }, interval);
    this.timer.unref();
  }

  stop(): void {
    clearInterval(this.timer);
    this.timer = undefined;
  }
}
