import assert from "node:assert/strict";
import { SharedCalls } from "./shared-calls.ts";

describe("SharedCalls", () => {
  let started: AbortSignal[];
  let finish: (value: number) => void;
  const start = (signal: AbortSignal) => {
    started.push(signal);
    return new Promise<number>((resolve, reject) => {
      finish = resolve;
      signal.addEventListener("abort", () => reject(signal.reason as Error));
    });
  };
  const gone = new Error("gone");

  beforeEach(() => {
    started = [];
  });

  it("starts one call for concurrent callers", async () => {
    const calls = new SharedCalls<number>();
    const both = [calls.join("a", undefined, start), calls.join("a", undefined, start)];
    finish(1);
    assert.deepEqual(await Promise.all(both), [1, 1]);
    assert.equal(started.length, 1);
    assert.equal(started[0]!.aborted, false);
    const next = calls.join("a", undefined, start);
    finish(2);
    assert.equal(await next, 2);
  });

  it("continues the call while a caller is left", async () => {
    const calls = new SharedCalls<number>();
    const leaving = new AbortController();
    const left = calls.join("a", leaving.signal, start);
    const stays = calls.join("a", new AbortController().signal, start);
    leaving.abort(gone);
    await assert.rejects(left, gone);
    assert.equal(started[0]!.aborted, false);
    finish(1);
    assert.equal(await stays, 1);
  });

  it("aborts the call when the last caller leaves, and starts another for the next", async () => {
    const calls = new SharedCalls<number>();
    const leaving = new AbortController();
    const left = calls.join("a", leaving.signal, start);
    leaving.abort(gone);
    await assert.rejects(left, gone);
    assert.equal(started[0]!.aborted, true);
    await assert.rejects(calls.join("a", leaving.signal, start), gone);
    assert.equal(started.length, 1);
    const next = calls.join("a", undefined, start);
    finish(2);
    assert.equal(await next, 2);
  });
});
