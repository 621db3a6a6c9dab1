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
  pathsOf,
  recursiveDifference,
  setOf,
  union,
  unionOfAll,
} from "./set.ts";
import { parseFieldSet } from "./parse-field-set.ts";
import { compareElements, describeElement, FieldSetError } from "./path-element.ts";

/** Parses `a.b a.c` as the set of the paths a.b and a.c. */
function set(text: string): FieldSet {
  const paths = text.split(" ").filter((path) => path !== "");
  return setOf(...paths.map((path) => path.split(".").map((name) => `f:${name}`)));
}

/** Prints the sorted paths of a set in the notation of `set`. */
function printPaths(fields: FieldSet): string {
  const paths = pathsOf(fields).map((path) => path.map((name) => name.slice(2)).join("."));
  return paths.sort().join(" ");
}

/** Up to twelve paths of up to three elements, of three names so that random sets intersect. */
function arbitrarySet(random: Random): FieldSet {
  const step = (): string => random.pick(["a", "b", "c"]);
  const path = (): string => Array.from({ length: 1 + random.below(3) }, step).join(".");
  return set(Array.from({ length: random.below(12) }, path).join(" "));
}

const parse = (value: unknown): FieldSet => atOnce(parseFieldSet(value));

describe("field sets", () => {
  const rows: readonly (readonly [string, (a: FieldSet, b: FieldSet) => FieldSet, ...string[]])[] =
    [
      ["union has the members of both sets", union, "a a.b", "a.c d", "a a.b a.c d"],
      ["intersection has the common members", intersection, "a a.b c", "a.b c.d", "a.b"],
      ["difference keeps paths below a removed member", difference, "a a.b c", "a", "a.b c"],
      ["difference keeps the prefix of a removed member", difference, "a a.b c", "a.b", "a c"],
      [
        "recursiveDifference removes a member and all paths below it",
        recursiveDifference,
        "a a.b a.b.c d",
        "a",
        "d",
      ],
      [
        "recursiveDifference removes paths below a member of the right set",
        recursiveDifference,
        "a.b.c",
        "a.b",
        "",
      ],
    ];
  for (const [title, operation, left = "", right = "", expected = ""] of rows) {
    it(title, () => assert.equal(printPaths(operation(set(left), set(right))), expected));
  }

  it("satisfies the laws of set algebra", () => {
    const random = seededRandom("field sets");
    for (let round = 0; round < 500; round++) {
      const [a, b, c] = [arbitrarySet(random), arbitrarySet(random), arbitrarySet(random)];
      const same = (left: FieldSet, right: FieldSet, law: string): void =>
        assert.equal(printPaths(left), printPaths(right), `${law}, round ${round}`);
      same(union(a, b), union(b, a), "union commutes");
      same(union(a, union(b, c)), union(union(a, b), c), "union associates");
      same(intersection(a, b), intersection(b, a), "intersection commutes");
      same(
        intersection(a, union(b, c)),
        union(intersection(a, b), intersection(a, c)),
        "intersection distributes over union",
      );
      same(difference(a, union(b, c)), difference(difference(a, b), c), "differences add up");
      same(
        union(difference(a, b), intersection(a, b)),
        a,
        "difference and intersection partition a set",
      );
      same(unionOfAll([a, b, c]), union(union(a, b), c), "unionOfAll equals repeated union");
      same(union(a, a), a, "union with itself");
      assert.ok(isSubset(intersection(a, b), a) && isSubset(a, union(a, b)), "subsets");
      assert.equal(
        isSubset(a, b),
        printPaths(difference(a, b)) === "",
        "the difference to a superset is empty",
      );
      same(parse(JSON.parse(JSON.stringify(inOrder(a)))), a, "decoding reverses encoding");
      for (const path of pathsOf(a)) assert.ok(hasPath(a, path), "hasPath of each member");
    }
  });

  it("lists fields, keys, values and indexes in this order, each kind sorted", () => {
    const read = parse({
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

  it("ignores unknown kinds of path elements, rejects malformed ones", () => {
    assert.equal(parse({ "x:new": { "f:a": {} } }), emptySet);
    assert.deepEqual(parse({ "f:a": { "x:new": {} }, "f:b": null }), {
      "f:a": {},
      "f:b": {},
    });
    for (const malformed of [
      { a: {} },
      { "f:a": 1 },
      { "k:x": {} },
      { "i:x": {} },
      [],
      { "": {} },
    ]) {
      assert.throws(() => parse(malformed), FieldSetError, JSON.stringify(malformed));
    }
    assert.throws(() => parse(JSON.parse('{"__proto__":{"f:a":{}}}')), FieldSetError);
  });

  it("decodes a canonical set to the same object, makes others canonical", () => {
    for (const text of [
      '{"f:a":{},"f:b":{".":{},"k:{\\"a\\":\\"x\\",\\"p\\":0}":{}}}',
      '{"f:b":{"k:{\\"a\\":\\"x\\"}":{},"v:1":{}}}',
      '{"f:a":{"i:9":{},"i:10":{}}}',
    ]) {
      const written: unknown = JSON.parse(text);
      assert.equal(parse(written), written, text);
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
      assert.equal(JSON.stringify(parse(JSON.parse(text))), read, text);
    }
  });

  it("merges one element in two notations", () => {
    const twice = parse({
      'k:{"a":1,"b":2}': { ".": {}, "f:x": {} },
      'k:{"b":2,"a":1}': { "f:y": {} },
    });
    assert.deepEqual(twice, { 'k:{"a":1,"b":2}': { ".": {}, "f:y": {} } });
  });
});

describe("path elements", () => {
  const descriptions: readonly (readonly [string, string])[] = [
    ["f:name", ".name"],
    ['k:{"containerPort":80,"protocol":"TCP"}', '[containerPort=80,protocol="TCP"]'],
    ['v:"a\\"b"', '[="a\\"b"]'],
    ["v:true", "[=true]"],
    ["i:3", "[3]"],
  ];
  for (const [element, text] of descriptions) {
    it(`describes ${element} as ${text}`, () => assert.equal(describeElement(element), text));
  }

  it("are sorted by kind, then by value", () => {
    const sorted = ["f:a", "f:b", 'k:{"n":2}', 'k:{"n":10}', 'k:{"n":"1"}', "v:1", "i:0"];
    const random = seededRandom(7);
    const mixed = [...sorted].sort(() => random.next() - 0.5);
    assert.deepEqual(mixed.sort(compareElements), sorted);
  });
});
