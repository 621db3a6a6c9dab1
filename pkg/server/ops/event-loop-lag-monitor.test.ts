import assert from "node:assert/strict";
import { EventLoopLagMonitor } from "./event-loop-lag-monitor.ts";

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describe("stalls", () => {
  it("are noticed with their length, and nothing is noticed after the end", async () => {
    const heard: number[] = [];
    const stalls = new EventLoopLagMonitor((seconds) => heard.push(seconds));
    stalls.start();
    await pause(20);
    const hold = (ms: number): void => {
      const until = performance.now() + ms;
      while (performance.now() < until);
    };
    hold(400);
    await pause(150);
    assert.ok(
      heard.some((seconds) => seconds > 0.2 && seconds < 100),
      heard.join(),
    );
    stalls.stop();
    const before = heard.length;
    hold(300);
    await pause(50);
    assert.equal(heard.length, before);
  });
});
