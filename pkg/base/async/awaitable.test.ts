import assert from "node:assert/strict";
import {
  finallyDo,
  type Awaitable,
  firstDefined,
  recoverAwaitable,
  chainAwaitable,
} from "./awaitable.ts";

describe("awaitable", () => {
  it("continues immediately with a value, and later with a promise", async () => {
    assert.equal(
      chainAwaitable(1, (value) => value + 1),
      2,
    );
    const later = chainAwaitable(Promise.resolve(1), (value) => value + 1);
    assert.ok(later instanceof Promise);
    assert.equal(await later, 2);
  });

  it("calls functions one after the other until one returns a result", async () => {
    const asked: string[] = [];
    const answers: Readonly<Record<string, Awaitable<number | undefined>>> = {
      silent: undefined,
      slow: Promise.resolve(undefined),
      zero: 0,
      last: 1,
    };
    const ask = (name: string) => {
      asked.push(name);
      return answers[name];
    };
    assert.equal(firstDefined(["silent", "zero", "last"], ask), 0);
    assert.equal(await firstDefined(["silent", "slow", "zero", "last"], ask), 0);
    assert.equal(await firstDefined(["slow", "silent"], ask), undefined);
    assert.deepEqual(asked.join(" "), "silent zero silent slow zero slow silent");
  });

  it("handles exceptions and rejections", async () => {
    const rescue = (error: unknown) => `not ${(error as Error).message}`;
    const thrown = () => {
      throw new Error("now");
    };
    assert.equal(recoverAwaitable(thrown, rescue), "not now");
    assert.equal(
      await recoverAwaitable(async () => Promise.reject(new Error("later")), rescue),
      "not later",
    );
    assert.equal(
      recoverAwaitable(() => "good", rescue),
      "good",
    );
  });

  it("runs the final step after success and failure", async () => {
    let done = 0;
    assert.equal(await finallyDo(Promise.resolve(1), () => done++), 1);
    await assert.rejects(
      finallyDo(Promise.reject(new Error("bad")), () => done++),
      /bad/,
    );
    assert.equal(done, 2);
  });
});
