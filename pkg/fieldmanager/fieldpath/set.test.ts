import assert from "node:assert/strict";
import { atOnce, type Random, seededRandom } from "#base";
import {
  difference,
  emptySet,
  type FieldSet,
  hasPath,
  inOrder,
  intersection,
  isSubset,
  onlyMatching,
  parseFieldSet,
  pathsOf,
  recursiveDifference,
  setOf,
  union,
  unionOfAll,
} from "./set.ts";
import { compareElements, describeElement, FieldSetError } from "./path-element.ts";

/** `a.b a.c` -> the set of these paths; `a` alone is a member without anything below. */
function set(text: string): FieldSet {
  const paths = text.split(" ").filter((path) => path !== "");
  return setOf(...paths.map((path) => path.split(".").map((name) => `f:${name}`)));
}

/** The paths of a set in the same notation, sorted. */
function shown(fields: FieldSet): string {
  const paths = pathsOf(fields).map((path) => path.map((name) => name.slice(2)).join("."));
  return paths.sort().join(" ");
}

/** Up to twelve paths of up to three steps over few names, so that sets meet often. */
function arbitrarySet(random: Random): FieldSet {
  const step = (): string => random.pick(["a", "b", "c"]);
  const path = (): string => Array.from({ length: 1 + random.below(3) }, step).join(".");
  return set(Array.from({ length: random.below(12) }, path).join(" "));
}

const parsed = (value: unknown): FieldSet => atOnce(parseFieldSet(value));

describe("field sets", () => {
  const rows: readonly (readonly [string, (a: FieldSet, b: FieldSet) => FieldSet, ...string[]])[] =
    [
      ["a union has the members of both", union, "a a.b", "a.c d", "a a.b a.c d"],
      ["an intersection those of each", intersection, "a a.b c", "a.b c.d", "a.b"],
      ["a difference leaves what is below", difference, "a a.b c", "a", "a.b c"],
      ["a difference leaves what is above", difference, "a a.b c", "a.b", "a c"],
      ["a recursive one takes all", recursiveDifference, "a a.b a.b.c d", "a", "d"],
      ["a recursive one takes what is below a member", recursiveDifference, "a.b.c", "a.b", ""],
    ];
  for (const [title, operation, left = "", right = "", expected = ""] of rows) {
    it(title, () => assert.equal(shown(operation(set(left), set(right))), expected));
  }

  it("follow the laws of sets", () => {
    const random = seededRandom("field sets");
    for (let round = 0; round < 500; round++) {
      const [a, b, c] = [arbitrarySet(random), arbitrarySet(random), arbitrarySet(random)];
      const same = (left: FieldSet, right: FieldSet, law: string): void =>
        assert.equal(shown(left), shown(right), `${law}, round ${round}`);
      same(union(a, b), union(b, a), "union commutes");
      same(union(a, union(b, c)), union(union(a, b), c), "union associates");
      same(intersection(a, b), intersection(b, a), "intersection commutes");
      same(
        intersection(a, union(b, c)),
        union(intersection(a, b), intersection(a, c)),
        "intersection distributes over union",
      );
      same(difference(a, union(b, c)), difference(difference(a, b), c), "differences add up");
      same(union(difference(a, b), intersection(a, b)), a, "difference and intersection part");
      same(unionOfAll([a, b, c]), union(union(a, b), c), "union of many");
      same(union(a, a), a, "union with itself");
      assert.ok(isSubset(intersection(a, b), a) && isSubset(a, union(a, b)), "subsets");
      assert.equal(isSubset(a, b), shown(difference(a, b)) === "", "a subset leaves nothing");
      same(parsed(JSON.parse(JSON.stringify(inOrder(a)))), a, "reading after writing");
      for (const path of pathsOf(a)) assert.ok(hasPath(a, path), "its own paths");
    }
  });

  it("are written as Kubernetes does: fields, keys, values, indexes, each in order", () => {
    const read = parsed({
      "f:list": {
        'k:{"port":443,"b":"x"}': { "f:port": {}, ".": {} },
        'k:{"port":80,"b":"x"}': { ".": {}, "f:name": {} },
        'v:"b"': {},
        "v:3": {},
        "i:10": {},
        "i:9": {},
        "f:z": {},
      },
      "f:a": { ".": {} },
    });
    assert.equal(
      JSON.stringify(inOrder(read)),
      '{"f:a":{},"f:list":{"f:z":{},"k:{\\"b\\":\\"x\\",\\"port\\":80}":{".":{},"f:name":{}},' +
        '"k:{\\"b\\":\\"x\\",\\"port\\":443}":{".":{},"f:port":{}},"v:3":{},"v:\\"b\\"":{},' +
        '"i:9":{},"i:10":{}}}',
    );
  });

  it("pass over unknown steps, and refuse what is none", () => {
    assert.equal(parsed({ "x:new": { "f:a": {} } }), emptySet);
    assert.deepEqual(parsed({ "f:a": { "x:new": {} }, "f:b": null }), {
      "f:a": {},
      "f:b": {},
    });
    for (const lie of [{ a: {} }, { "f:a": 1 }, { "k:x": {} }, { "i:x": {} }, [], { "": {} }]) {
      assert.throws(() => parsed(lie), FieldSetError, JSON.stringify(lie));
    }
    assert.throws(() => parsed(JSON.parse('{"__proto__":{"f:a":{}}}')), FieldSetError);
  });

  it("that are written in order are themselves, others are rewritten", () => {
    for (const text of [
      '{"f:a":{},"f:b":{".":{},"k:{\\"a\\":\\"x\\",\\"p\\":0}":{}}}',
      '{"f:b":{"k:{\\"a\\":\\"x\\"}":{},"v:1":{}}}',
      '{"f:a":{"i:9":{},"i:10":{}}}',
    ]) {
      const written: unknown = JSON.parse(text);
      assert.equal(parsed(written), written, text);
    }
    for (const [text, read] of [
      ['{"f:b":{},"f:a":{}}', '{"f:a":{},"f:b":{}}'],
      ['{"f:a":{".":{}}}', '{"f:a":{}}'],
      ['{"f:a":{".":{"f:x":{}},"f:b":{}}}', '{"f:a":{".":{},"f:b":{}}}'],
      ['{"f:a":{"f:b":{},".":{}}}', '{"f:a":{".":{},"f:b":{}}}'],
      ['{".":{},"f:a":null}', '{"f:a":{}}'],
      ['{"f:a":{"k:{\\"p\\":0,\\"a\\":1}":{}}}', '{"f:a":{"k:{\\"a\\":1,\\"p\\":0}":{}}}'],
      ['{"f:a":{"k:{\\"p\\":1.0}":{}}}', '{"f:a":{"k:{\\"p\\":1}":{}}}'],
    ] as const) {
      assert.equal(JSON.stringify(parsed(JSON.parse(text))), read, text);
    }
  });

  it("read one step in two spellings as one", () => {
    const twice = parsed({
      'k:{"a":1,"b":2}': { ".": {}, "f:x": {} },
      'k:{"b":2,"a":1}': { "f:y": {} },
    });
    assert.deepEqual(twice, { 'k:{"a":1,"b":2}': { ".": {}, "f:y": {} } });
  });

  it("are narrowed by patterns", () => {
    const all = set("spec spec.list.one.image spec.list.one spec.list.one.image.x status.a");
    const only = onlyMatching(all, [["f:spec", "f:list", "*", "f:image"]]);
    assert.equal(shown(only), "spec spec.list.one spec.list.one.image spec.list.one.image.x");
  });
});

describe("path elements", () => {
  const shownAs: readonly (readonly [string, string])[] = [
    ["f:name", ".name"],
    ['k:{"containerPort":80,"protocol":"TCP"}', '[containerPort=80,protocol="TCP"]'],
    ['v:"a\\"b"', '[="a\\"b"]'],
    ["v:true", "[=true]"],
    ["i:3", "[3]"],
  ];
  for (const [element, text] of shownAs) {
    it(`${element} reads ${text}`, () => assert.equal(describeElement(element), text));
  }

  it("have one order", () => {
    const inOrderOfBytes = ["f:a", "f:b", 'k:{"n":2}', 'k:{"n":10}', 'k:{"n":"1"}', "v:1", "i:0"];
    const random = seededRandom(7);
    const mixed = [...inOrderOfBytes].sort(() => random.next() - 0.5);
    assert.deepEqual(mixed.sort(compareElements), inOrderOfBytes);
  });
});
