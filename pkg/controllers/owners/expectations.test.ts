import assert from "node:assert/strict";
import { TestClock } from "../../registry/testing.ts";
import { Expectations } from "./expectations.ts";

describe("Expectations", () => {
  let clock: TestClock;
  let expectations: Expectations;
  beforeEach(() => {
    clock = new TestClock();
    expectations = new Expectations(clock);
  });

  it("are satisfied if there are none", () => {
    assert.ok(expectations.areSatisfied("a"));
    expectations.observeCreations("a");
    assert.ok(expectations.areSatisfied("a"));
  });

  it("wait for all creations and deletions of a key", () => {
    expectations.expect("a", 2, ["p", "q"]);
    assert.ok(!expectations.areSatisfied("a"));
    assert.ok(expectations.areSatisfied("b"));
    expectations.observeCreations("a", 2);
    expectations.observeDeletion("a", "p");
    expectations.observeDeletion("a", "p");
    expectations.observeDeletion("a", "other");
    assert.ok(!expectations.areSatisfied("a"));
    expectations.observeDeletion("a", "q");
    assert.ok(expectations.areSatisfied("a"));
  });

  it("expire after five minutes, and end when replaced or removed", () => {
    expectations.expect("a", 1);
    clock.advance(300_000);
    assert.ok(!expectations.areSatisfied("a"));
    clock.advance(1);
    assert.ok(expectations.areSatisfied("a"));
    expectations.expect("a", 1);
    expectations.expect("a", 0, ["p"]);
    expectations.observeDeletion("a", "p");
    assert.ok(expectations.areSatisfied("a"));
    expectations.expect("a", 1);
    expectations.forget("a");
    assert.ok(expectations.areSatisfied("a"));
  });
});
