import assert from "node:assert/strict";
import { atOnce, inTurns, promptly, type Slices } from "./slices.ts";

/** Holds the event loop for longer than one piece of work may. */
function work(): void {
  const end = performance.now() + 10;
  while (performance.now() < end);
}

function* longWork(slices: number): Slices<string> {
  for (let slice = 0; slice < slices; slice++) {
    work();
    yield;
  }
  return "done";
}

function* failing(): Slices<string> {
  yield;
  throw new Error("broken");
}

describe("slices", () => {
  it("returns the result, synchronously and in slices", async () => {
    assert.equal(atOnce(longWork(1)), "done");
    assert.equal(await inTurns(longWork(1)), "done");
  });

  it("yields to other work between long slices", async () => {
    const slices = 4;
    let turns = 0;
    let isOver = false;
    const others = (): void => {
      turns += 1;
      if (!isOver) setImmediate(others);
    };
    setImmediate(others);
    await inTurns(longWork(slices));
    isOver = true;
    assert.ok(turns > slices, `${turns} turns`);
  });

  it("returns the result of short work at once, that of long work in turns", async () => {
    function* short(): Slices<string> {
      yield;
      return "done";
    }
    assert.equal(promptly(short()), "done");
    const long = promptly(longWork(2));
    assert.ok(long instanceof Promise);
    assert.equal(await long, "done");
  });

  it("throws what the work throws", async () => {
    assert.throws(() => atOnce(failing()), /broken/);
    await assert.rejects(inTurns(failing()), /broken/);
  });
});
