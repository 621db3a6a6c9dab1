import assert from "node:assert/strict";
import type { ItemEvent, WatchOptions } from "../contract.ts";
import { testRegistry, type TestRegistry } from "../testing.ts";

const minute = 60_000;

/** Collects the types of a watch's events until it ends. */
function collect(api: TestRegistry, options: Partial<WatchOptions>) {
  const events: ItemEvent[] = [];
  const state = { ended: false };
  const finished = (async () => {
    for await (const event of api.watch("v1/configmaps/ns", options)) events.push(event);
    state.ended = true;
  })();
  return { events, state, finished };
}

/** Advances the clock in steps that let timers and promises run. */
async function advance(api: TestRegistry, ms: number, step = minute): Promise<void> {
  for (let passed = 0; passed < ms; passed += step) {
    api.clock.advance(Math.min(step, ms - passed));
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
}

describe("watch deadline", () => {
  const live = { resourceVersion: "1", allowBookmarks: true };

  it("is timeoutSeconds, with a last bookmark 2 s before", async () => {
    const api = await testRegistry();
    const watch = collect(api, { ...live, timeoutSeconds: 10 });
    await new Promise((resolve) => setTimeout(resolve, 20));
    await advance(api, 7_500, 500);
    assert.deepEqual(watch.events, []);
    await advance(api, 1_500, 500);
    const revision = await api.store.revision();
    assert.deepEqual(watch.events, [{ type: "BOOKMARK", revision, initialEventsEnd: false }]);
    assert.equal(watch.state.ended, false);
    await advance(api, 1_000, 500);
    await watch.finished;
    assert.equal(watch.events.length, 1);
  });

  it("is between one and two times --min-request-timeout without timeoutSeconds", async () => {
    const api = await testRegistry({ minRequestTimeoutMs: 180 * minute });
    const watches = Array.from({ length: 20 }, () => collect(api, live));
    await new Promise((resolve) => setTimeout(resolve, 20));
    await advance(api, 179 * minute);
    assert.ok(watches.every(({ state }) => !state.ended));
    await advance(api, 90 * minute);
    const ended = watches.filter(({ state }) => state.ended).length;
    assert.ok(ended > 0 && ended < 20, `${ended} of 20 watches have ended by half the spread`);
    await advance(api, 92 * minute);
    assert.ok(watches.every(({ state }) => state.ended));
  });

  it("comes after a last bookmark for every watch without timeoutSeconds", async () => {
    const api = await testRegistry({ minRequestTimeoutMs: 10_000 });
    const watches = Array.from({ length: 10 }, () => collect(api, live));
    await new Promise((resolve) => setTimeout(resolve, 20));
    await advance(api, 21_000, 500);
    for (const { events, state } of watches) {
      assert.deepEqual([state.ended, events.map(({ type }) => type)], [true, ["BOOKMARK"]]);
    }
  });

  it("may exceed the limit of a Node timer", async () => {
    const api = await testRegistry({ minRequestTimeoutMs: 30 * 24 * 60 * minute });
    const watch = collect(api, live);
    const long = collect(api, { ...live, timeoutSeconds: 2 ** 31 });
    await new Promise((resolve) => setTimeout(resolve, 20));
    await advance(api, 24 * 60 * minute, 60 * minute);
    assert.deepEqual([watch.state.ended, long.state.ended], [false, false]);
  });

  it("has passed for a negative timeoutSeconds", async () => {
    const api = await testRegistry();
    const watch = collect(api, { ...live, timeoutSeconds: -1 });
    await new Promise((resolve) => setTimeout(resolve, 20));
    await advance(api, 1, 1);
    await watch.finished;
    assert.deepEqual(watch.events, []);
  });
});
