import assert from "node:assert/strict";
import { seededRandom } from "#base";
import {
  countCommon,
  countIndexes,
  firstMissing,
  formatIntervals,
  hasIndex,
  union,
  parseIntervals,
  withIndexes,
} from "./index-intervals.ts";

describe("completion index intervals", () => {
  it("are printed with a comma between two consecutive indexes, with a hyphen from three", () => {
    for (const text of ["", "3", "1,2", "0-2", "0,2-4,9"]) {
      assert.equal(formatIntervals(parseIntervals(text, 10)), text);
    }
  });

  it("drop invalid parts and indexes beyond the completions", () => {
    const parsed = (text: string) => formatIntervals(parseIntervals(text, 5));
    assert.equal(parsed("0,x,2"), "0,2");
    assert.equal(parsed("0,3-9"), "0,3,4");
    assert.equal(parsed("1,7-9"), "1");
    assert.equal(parsed("3-1,4"), "4");
    assert.equal(parsed("-1,2"), "2");
  });

  it("behave like sets", () => {
    const random = seededRandom("intervals");
    for (let round = 0; round < 300; round++) {
      const some = () => new Set(Array.from({ length: random.below(15) }, () => random.below(30)));
      const [left, right] = [some(), some()];
      const [first, second] = [withIndexes([], left), withIndexes([], right)];
      const both = union(first, second);
      assert.equal(countIndexes(both), new Set([...left, ...right]).size);
      assert.equal(countCommon(first, second), [...left].filter((each) => right.has(each)).length);
      const free: number[] = [];
      for (let index = 0; index < 30; index++) {
        assert.equal(hasIndex(both, index), left.has(index) || right.has(index));
        if (!hasIndex(both, index)) free.push(index);
      }
      const count = random.below(10);
      const completions = random.below(31);
      const missing = free.filter((index) => index < completions).slice(0, count);
      assert.deepEqual(firstMissing(both, count, completions), missing);
      assert.deepEqual(parseIntervals(formatIntervals(both), 30), both);
    }
  });
});
