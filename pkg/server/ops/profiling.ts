/** CPU profiles and heap statistics of the running server. */
import { setTimeout as sleep } from "node:timers/promises";
import { Session } from "node:inspector/promises";
import { getHeapSpaceStatistics, getHeapStatistics } from "node:v8";

/** Another CPU profile is in progress; the message is that of Go's pprof. */
export class ProfilerBusy extends Error {
  override readonly name = "ProfilerBusy";
  constructor() {
    super("cpu profiling already in use");
  }
}

export class Profiler {
  private busy = false;

  /**
   * Takes a CPU profile and returns it as JSON (`.cpuprofile`).
   * @throws ProfilerBusy, or an AbortError if the signal aborts
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
 * Memory usage in bytes. Heap snapshots are not served, as they contain Secrets and taking one blocks
 * the server for seconds.
 */
export function memoryStatistics(): object {
  return {
    process: process.memoryUsage(),
    heap: getHeapStatistics(),
    spaces: getHeapSpaceStatistics(),
  };
}
