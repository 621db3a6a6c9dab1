import assert from "node:assert/strict";
import { EventLoopLagMonitor } from "./event-loop-lag-monitor.ts";

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describe("event loop lag monitor", () => {
  it("reports stalls with their duration until it is stopped", async () => {
    const reported: number[] = [];
    const monitor = new EventLoopLagMonitor((seconds) => reported.push(seconds));
    monitor.start();
    await pause(20);
    const block = (ms: number): void => {
      const until = performance.now() + ms;
      while (performance.now() < until);
    };
    block(400);
    await pause(150);
    assert.ok(
      reported.some((seconds) => seconds > 0.2 && seconds < 100),
      reported.join(),
    );
    monitor.stop();
    const before = reported.length;
    block(300);
    await pause(50);
    assert.equal(reported.length, before);
  });
});
