import assert from "node:assert/strict";
import type { Clock } from "../clock.ts";
import { KeyedMutex } from "./keyed-mutex.ts";

describe("KeyedMutex", () => {
  const { signal } = new AbortController();

  it("admits waiters of a key in order, and other keys independently", async () => {
    const mutex = new KeyedMutex();
    const log: string[] = [];
    const visit = (key: string, name: string): Promise<void> =>
      mutex.runExclusive(key, async () => {
        log.push(`${name} in`);
        await new Promise(setImmediate);
        log.push(`${name} out`);
      });
    await Promise.all([visit("a", "1"), visit("a", "2"), visit("a", "3")]);
    assert.equal(log.join(" "), "1 in 1 out 2 in 2 out 3 in 3 out");
    const release = await mutex.acquire("b", signal);
    await visit("a", "4");
    await new Promise(setImmediate);
    assert.deepEqual([mutex.isLocked("a"), mutex.isLocked("b")], [false, true]);
    release();
    await new Promise(setImmediate);
    assert.equal(mutex.isLocked("b"), false);
  });

  it("releases the key when the work fails", async () => {
    const mutex = new KeyedMutex();
    const failing = mutex.runExclusive("a", () => Promise.reject(new Error("no")));
    const next = mutex.runExclusive("a", async () => "admitted");
    await assert.rejects(failing, /no/);
    assert.equal(await next, "admitted");
  });

  it("admits the next waiter when a holder exceeds the hold limit", async () => {
    let expire = (): void => undefined;
    const clock = {
      sleep: (ms: number) =>
        new Promise<void>((resolve) => {
          assert.equal(ms, 1000);
          expire = resolve;
        }),
    } as Pick<Clock, "sleep"> as Clock;
    const mutex = new KeyedMutex({ clock, milliseconds: 1000 });
    await mutex.acquire("a", signal);
    let admitted = false;
    const next = mutex.acquire("a", signal).then(() => (admitted = true));
    await new Promise(setImmediate);
    assert.equal(admitted, false);
    expire();
    await next;
  });

  it("skips a waiter whose signal aborts and keeps the order of the others", async () => {
    const mutex = new KeyedMutex();
    const release = await mutex.acquire("a", signal);
    const impatient = new AbortController();
    const aborted = mutex.acquire("a", impatient.signal);
    let admitted = false;
    const last = mutex.acquire("a", signal).then((end) => {
      admitted = true;
      end();
    });
    impatient.abort(new Error("gone"));
    await assert.rejects(aborted, /gone/);
    await new Promise(setImmediate);
    assert.equal(admitted, false);
    release();
    await last;
    await new Promise(setImmediate);
    assert.equal(mutex.isLocked("a"), false);
  });
});
