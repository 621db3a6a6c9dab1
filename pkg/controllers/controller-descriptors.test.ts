import assert from "node:assert/strict";
import { selectControllers } from "./controller-descriptors.ts";

const named = (...words: readonly string[]) => selectControllers(words).map(({ name }) => name);

describe("--controllers", () => {
  it("expands * to all that are enabled by default", () => {
    const all = named("*");
    assert.ok(all.includes("namespace-controller") && all.includes("garbage-collector-controller"));
    assert.ok(!all.includes("token-cleaner-controller"));
  });

  it("adds and removes by name and by alias", () => {
    const all = named("*", "tokencleaner", "-namespace", "-garbage-collector-controller");
    assert.ok(all.includes("token-cleaner-controller"));
    assert.ok(!all.includes("namespace-controller"));
    assert.ok(!all.includes("garbage-collector-controller"));
    assert.deepEqual(named("serviceaccount-token"), ["serviceaccount-token-controller"]);
    assert.deepEqual(named("tokencleaner", "-tokencleaner"), []);
  });

  it("rejects unknown names", () => {
    assert.throws(
      () => named("*", "nonsense"),
      /"nonsense" is not in the list of known controllers/,
    );
    assert.throws(() => named("-nonsense"), RangeError);
  });

  it("has unique names and aliases", () => {
    const all = selectControllers(["*", "bootstrapsigner", "tokencleaner"]);
    const words = all.flatMap(({ name, alias = [] }) => [name, alias].flat());
    assert.equal(new Set(words).size, words.length);
  });
});
