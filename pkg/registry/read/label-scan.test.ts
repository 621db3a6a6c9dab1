import assert from "node:assert/strict";
import { seededRandom } from "#base";
import { labelsIn } from "./label-scan.ts";

const of = (metadata: unknown): string =>
  JSON.stringify({ kind: "Pod", apiVersion: "v1", metadata, spec: { labels: { no: "x" } } });

function scanned(text: string): unknown {
  const labels = labelsIn(Buffer.from(text));
  return labels === undefined ? "not scanned" : { ...labels };
}

describe("label scan", () => {
  it("finds labels at any position in the metadata", () => {
    const labels = { app: "web", "a/b": 'quoted " \\', é: "ü" };
    const traps = {
      annotations: { labels: '"labels":{"x":"y"}', 'with"quote\\': "\\" },
      managedFields: [{ fieldsV1: { "f:labels": { ".": {} } } }, { labels: { no: "no" } }],
      generation: 7,
      paused: true,
    };
    assert.deepEqual(scanned(of({ name: "a", labels })), labels);
    assert.deepEqual(scanned(of({ ...traps, labels })), labels);
    assert.deepEqual(scanned(of({ labels, ...traps })), labels);
    assert.deepEqual(scanned(of({ name: "a", ...traps })), {});
    assert.deepEqual(scanned(of({})), {});
  });

  it("returns undefined for other encodings and malformed labels", () => {
    for (const text of [
      "k8s\0binary",
      "",
      "{}",
      '{"spec":{}}',
      of({ labels: null }),
      of({ labels: { a: 1 } }),
      of({ labels: ["a"] }),
      `${of({ name: "a" }).slice(0, 50)}`,
      '{"metadata":{ "name":"spaced"}}',
      '{"metadata":{"labels":{"a":"b}}',
    ]) {
      assert.equal(scanned(text), "not scanned", text);
    }
  });

  it("agrees with the JSON parser for random objects", () => {
    const seed = Date.now() % 1_000_000_007;
    const random = seededRandom(seed);
    const word = (): string =>
      Array.from({ length: random.below(6) }, () => random.pick([...'ab"\\{}[],:é\n'])).join("");
    const value = (depth: number): unknown => {
      switch (random.below(depth > 3 ? 3 : 5)) {
        case 0:
          return word();
        case 1:
          return random.below(1000) - 500;
        case 2:
          return random.pick([true, false, null]);
        case 3:
          return Array.from({ length: random.below(3) }, () => value(depth + 1));
        default:
          return Object.fromEntries(
            Array.from({ length: random.below(4) }, () => [word(), value(depth + 1)]),
          );
      }
    };
    for (let round = 0; round < 2000; round++) {
      const before = Object.fromEntries(
        Array.from({ length: random.below(5) }, () => [`k${word().replace(/\W/g, "")}`, value(0)]),
      );
      const some = Array.from({ length: random.below(3) }, () => [word(), word()]);
      const labels = Object.fromEntries(some);
      const metadata = { ...before, ...(random.below(3) === 0 ? {} : { labels }), z: value(0) };
      const wanted = "labels" in metadata ? labels : {};
      assert.deepEqual(scanned(of(metadata)), wanted, `${of(metadata)}, seed ${seed}`);
    }
  });
});
