import assert from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import { aggregation, apiServiceOn } from "../testing.ts";
import { DownloadSchedule } from "./download-schedule.ts";

const second = 1_000;
const minute = 60_000;

/** Lets work that is due run until it waits. */
async function settled(): Promise<void> {
  for (let turns = 0; turns < 20; turns++) await setImmediate();
}

describe("DownloadSchedule", () => {
  let test: ReturnType<typeof aggregation>;
  let outcome: "exists" | "absent" | "fails";
  let updates: number;
  let removed: string[];
  let running: Promise<void>;

  beforeEach(() => {
    test = aggregation();
    updates = 0;
    removed = [];
    const schedule = new DownloadSchedule(test, {
      name: "test",
      download: () => {
        updates += 1;
        if (outcome === "fails") return Promise.reject(new Error("failed"));
        return Promise.resolve(outcome === "exists");
      },
      remove: (name) => void removed.push(name),
    });
    running = schedule.run();
  });
  afterEach(async () => {
    test.stop();
    await running;
  });

  /** Downloads in each step of so many ms. */
  async function downloads(...steps: readonly number[]): Promise<number[]> {
    const counts: number[] = [];
    for (const ms of steps) {
      const before = updates;
      test.clock.advance(ms);
      await settled();
      counts.push(updates - before);
    }
    return counts;
  }

  it("downloads a second after a change, then every minute", async () => {
    outcome = "exists";
    test.store(apiServiceOn("a.com/v1", 1));
    assert.deepEqual(await downloads(999, 1, minute - 1, 1, minute), [0, 1, 0, 1, 1]);
  });

  it("doubles the delay after each failure, up to an hour, until the APIService changes", async () => {
    outcome = "fails";
    test.store(apiServiceOn("a.com/v1", 1));
    assert.deepEqual(await downloads(second, minute, minute, minute), [1, 1, 0, 1]);
    assert.deepEqual(
      await downloads(4 * minute, 8 * minute, 16 * minute, 32 * minute),
      [1, 1, 1, 1],
    );
    assert.deepEqual(await downloads(59 * minute, minute, 60 * minute), [0, 1, 1]);
    test.store(apiServiceOn("a.com/v1", 2));
    assert.deepEqual(await downloads(second, minute), [1, 1]);
  });

  it("retries a server without the document when its APIService changes", async () => {
    outcome = "absent";
    test.store(apiServiceOn("a.com/v1", 1, { available: false }));
    assert.deepEqual(await downloads(second, 120 * minute), [1, 0]);
    test.store(apiServiceOn("a.com/v1", 1));
    assert.deepEqual(await downloads(second), [1]);
    test.remove(apiServiceOn("a.com/v1", 1));
    assert.deepEqual(removed, ["v1.a.com"]);
    assert.deepEqual(await downloads(120 * minute), [0]);
  });
});
