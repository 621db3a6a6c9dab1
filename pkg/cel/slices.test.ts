import assert from "node:assert/strict";
import type { Slices } from "#base";
import { compile, dyn, Environment, type Outcome, type Program } from "./index.ts";

const environment = Environment.kubernetes({ variables: { self: dyn } });
const self = {
  words: Array.from({ length: 20_000 }, (_each, index) => `w${index}`),
  few: Array.from({ length: 300 }, (_each, index) => `w${index}`),
  map: Object.fromEntries(Array.from({ length: 20_000 }, (_each, index) => [`k${index}`, index])),
};

function programOf(text: string): Program {
  const { program, error } = compile(text, environment);
  assert.ok(program !== undefined, error);
  return program;
}

function runInSlices(slices: Slices<Outcome>): { outcome: Outcome; interruptions: number } {
  for (let interruptions = 0; ; interruptions++) {
    const slice = slices.next();
    if (slice.done === true) return { outcome: slice.value, interruptions };
  }
}

describe("evaluation in slices", () => {
  for (const text of [
    "self.words.all(w, w.startsWith('w'))",
    "self.words.all(w, w != 'w19999')",
    "self.words.exists_one(w, w == 'w5') && self.words.exists(w, w == 'w19000')",
    "self.words.map(w, w + '!').filter(w, w.endsWith('9!')).size() == 2000",
    "self.few.all(w, self.few.exists(v, v == w))",
    "self.map.all(k, self.map[k] >= 0) ? self.map.map(k, k).size() : -1",
    "self.words.all(i, w, w == 'w' + string(i))",
    "self.map.transformMap(k, v, v + 1)['k7']",
    // A failed element decides nothing while others follow, and fails the whole otherwise.
    "self.words.exists(w, w == 'w7' ? w.absent : w == 'w19999')",
    "self.words.all(w, w == 'w7' ? w.absent : true)",
    "self.words.all(w, self.absent) || self.words.exists(w, w == 'w19999')",
    "[1, 2].all(n, self.words.all(w, w.size() > n))",
    "self.few.size() > 5",
  ]) {
    it(`has the same result and cost: ${text}`, () => {
      const program = programOf(text);
      const whole = program.evaluate({ self }, 10_000_000);
      const { outcome, interruptions } = runInSlices(
        program.evaluateInSlices({ self }, 10_000_000),
      );
      assert.deepEqual(outcome, whole);
      const isShort = text === "self.few.size() > 5";
      assert.ok(isShort ? interruptions === 0 : interruptions >= 1, `${interruptions}`);
    });
  }

  it("ends where the budget is exceeded", () => {
    const program = programOf("self.words.all(w, w.startsWith('w'))");
    for (const budget of [1, 4_999, 30_000, 59_999]) {
      const { outcome } = runInSlices(program.evaluateInSlices({ self }, budget));
      assert.deepEqual(outcome, program.evaluate({ self }, budget));
      assert.ok(outcome.error !== undefined && outcome.exceeded);
    }
  });
});
