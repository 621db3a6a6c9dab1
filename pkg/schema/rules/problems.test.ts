import assert from "node:assert/strict";
import { Path, Problems } from "./problems.ts";

const details = (problems: Problems): readonly string[] =>
  problems.list.map(({ detail }) => detail);
const tell = (problems: Problems, detail: string): void => problems.forbidden(Path.root, detail);

describe("problems that are looked for later", () => {
  function some(): Problems {
    const problems = new Problems();
    tell(problems, "first");
    problems.later((found) => {
      tell(found, "second");
      found.later((deeper) => tell(deeper, "third"));
      tell(found, "fourth");
    });
    problems.later(() => undefined);
    tell(problems, "fifth");
    return problems;
  }

  it("come where they would have come at once", () => {
    assert.deepEqual(details(some()), ["first", "second", "third", "fourth", "fifth"]);
  });

  it("are looked for one look at a time, and once", () => {
    const problems = some();
    assert.equal(problems.count, 2);
    assert.equal([...problems.settle()].length, 3);
    assert.equal(problems.count, 5);
    assert.equal([...problems.settle()].length, 0);
    assert.equal(details(problems).length, 5);
  });

  it("are looked for in the slices of a look", () => {
    const problems = new Problems();
    problems.later(function* (found) {
      tell(found, "first");
      yield;
      found.later((deeper) => tell(deeper, "second"));
      yield;
      tell(found, "third");
    });
    assert.equal([...problems.settle()].length, 4);
    assert.deepEqual(details(problems), ["first", "second", "third"]);
  });

  it("are not forgotten where nothing was found at once", () => {
    const problems = new Problems();
    problems.later((found) => tell(found, "only"));
    assert.equal(problems.empty, false);
  });
});
