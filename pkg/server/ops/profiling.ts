/** Where a server spends its time and its memory, measured while it works. */
import { setTimeout as sleep } from "node:timers/promises";
import { Session } from "node:inspector/promises";
import { getHeapSpaceStatistics, getHeapStatistics } from "node:v8";

/** Another profile is being taken. */
export class ProfilerBusy extends Error {
  override readonly name = "ProfilerBusy";
  constructor() {
    super("cpu profiling already in use");
  }
}

export class Profiler {
  private busy = false;

  /**
   * JSON that the profiling tools of browsers read (`.cpuprofile`). Ends with the signal's reason
   * when that aborts first.
   * @throws ProfilerBusy
   */
  async cpuProfile(milliseconds: number, signal: AbortSignal): Promise<string> {
    if (this.busy) throw new ProfilerBusy();
    this.busy = true;
    const session = new Session();
    try {
      session.connect();
      await session.post("Profiler.enable");
      await session.post("Profiler.start");
      await sleep(milliseconds, undefined, { signal });
      const { profile } = await session.post("Profiler.stop");
      return JSON.stringify(profile);
    } finally {
      session.disconnect();
      this.busy = false;
    }
  }
}

/**
 * How memory is used, in bytes. There is no snapshot of the heap to be had: it would hold every
 * Secret, and taking one stops the server for seconds.
 */
export function memoryStatistics(): object {
  return {
    process: process.memoryUsage(),
    heap: getHeapStatistics(),
    spaces: getHeapSpaceStatistics(),
  };
}
