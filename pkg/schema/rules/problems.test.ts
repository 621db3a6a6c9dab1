import assert from "node:assert/strict";
import { Path, Problems } from "./problems.ts";

const details = (problems: Problems): readonly string[] =>
  problems.list.map(({ detail }) => detail);
const report = (problems: Problems, detail: string): void => problems.forbidden(Path.root, detail);

describe("Problems, deferred checks", () => {
  function withDeferredChecks(): Problems {
    const problems = new Problems();
    report(problems, "first");
    problems.defer((found) => {
      report(found, "second");
      found.defer((deeper) => report(deeper, "third"));
      report(found, "fourth");
    });
    problems.defer(() => undefined);
    report(problems, "fifth");
    return problems;
  }

  it("lists their problems in the position of the defer call", () => {
    assert.deepEqual(details(withDeferredChecks()), [
      "first",
      "second",
      "third",
      "fourth",
      "fifth",
    ]);
  });

  it("runs them once, one per slice", () => {
    const problems = withDeferredChecks();
    assert.equal(problems.count, 2);
    assert.equal([...problems.settle()].length, 3);
    assert.equal(problems.count, 5);
    assert.equal([...problems.settle()].length, 0);
    assert.equal(details(problems).length, 5);
  });

  it("forwards the slices of a check", () => {
    const problems = new Problems();
    problems.defer(function* (found) {
      report(found, "first");
      yield;
      found.defer((deeper) => report(deeper, "second"));
      yield;
      report(found, "third");
    });
    assert.equal([...problems.settle()].length, 4);
    assert.deepEqual(details(problems), ["first", "second", "third"]);
  });

  it("runs them before it reports that there are no problems", () => {
    const problems = new Problems();
    problems.defer((found) => report(found, "only"));
    assert.equal(problems.empty, false);
  });
});
