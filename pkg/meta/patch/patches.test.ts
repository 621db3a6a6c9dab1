import assert from "node:assert/strict";
import { atOnce } from "#base";
import { int32, list, map, value, string, structs } from "#schema";
import { jsonPatch } from "./json-patch.ts";
import { mergePatchInSlices } from "./merge-patch.ts";
import { PatchFault } from "./patch-fault.ts";
import { strategicMergePatchInSlices } from "./strategic-merge.ts";

function refusal(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (error instanceof PatchFault) return error.message;
    throw error;
  }
  return "accepted";
}

describe("JSON patch", () => {
  const document = { data: { a: "1", b: "2" }, list: ["x", "y"], deep: { n: null } };

  /** operations as `op path [value or from]`, and what becomes of the document's changed members */
  const rows: readonly (readonly [string, readonly unknown[], unknown])[] = [
    ["adds a key", [{ op: "add", path: "/data/c", value: "3" }], { a: "1", b: "2", c: "3" }],
    [
      "replaces a missing key",
      [{ op: "replace", path: "/data/c", value: "3" }],
      { a: "1", b: "2", c: "3" },
    ],
    ["adds null for no value", [{ op: "add", path: "/data/c" }], { a: "1", b: "2", c: null }],
    ["removes a key", [{ op: "remove", path: "/data/a" }], { b: "2" }],
    ["moves a key", [{ op: "move", from: "/data/a", path: "/data/c" }], { b: "2", c: "1" }],
    [
      "copies a missing key as null",
      [{ op: "copy", from: "/data/z", path: "/data/c" }],
      { a: "1", b: "2", c: null },
    ],
    ["a missing key equals null", [{ op: "test", path: "/data/z", value: null }], document.data],
    ["escapes", [{ op: "add", path: "/data/x~1y~0z", value: 1 }], { a: "1", b: "2", "x/y~z": 1 }],
    [
      "__proto__ is a key",
      [{ op: "add", path: "/data/__proto__", value: "p" }],
      JSON.parse('{"a":"1","b":"2","__proto__":"p"}'),
    ],
  ];
  for (const [title, operations, data] of rows) {
    it(title, () => {
      const result = jsonPatch(document, operations as never) as { readonly data: unknown };
      assert.deepEqual(JSON.stringify(result.data), JSON.stringify(data));
    });
  }

  const lists: readonly (readonly [string, unknown, readonly string[]])[] = [
    ["appends", { op: "add", path: "/list/-", value: "z" }, ["x", "y", "z"]],
    ["inserts", { op: "add", path: "/list/0", value: "z" }, ["z", "x", "y"]],
    ["inserts at the length", { op: "add", path: "/list/2", value: "z" }, ["x", "y", "z"]],
    ["counts from the end", { op: "replace", path: "/list/-1", value: "z" }, ["x", "z"]],
    ["reads leading zeros", { op: "replace", path: "/list/01", value: "z" }, ["x", "z"]],
    ["removes", { op: "remove", path: "/list/0" }, ["y"]],
  ];
  for (const [title, operation, expected] of lists) {
    it(`${title} in a list`, () => {
      const result = jsonPatch(document, [operation] as never) as { readonly list: unknown };
      assert.deepEqual(result.list, expected);
    });
  }

  const refused: readonly unknown[] = [
    { op: "remove", path: "/data/z" },
    { op: "remove", path: "" },
    { op: "remove", path: "/list/2" },
    { op: "add", path: "/list/3", value: "z" },
    { op: "add", path: "/list/first", value: "z" },
    { op: "replace", path: "/list/-", value: "z" },
    { op: "replace", path: "/none/z", value: "z" },
    { op: "add", path: "/data/a/b", value: "z" },
    { op: "add", path: "", value: {} },
    { op: "move", from: "/data", path: "/data/sub" },
    { op: "test", path: "/data/a", value: "2" },
    { op: "test", path: "/data/a" },
    { op: "test", path: "/data", value: { a: "1" } },
    { op: "add", value: "z" },
    { op: "ADD", path: "/data/c", value: "z" },
    {},
    null,
  ];
  for (const operation of refused) {
    it(`rejects ${JSON.stringify(operation)}`, () => {
      assert.notEqual(
        refusal(() => jsonPatch(document, [operation] as never)),
        "accepted",
      );
    });
  }

  it("replaces the document by an object only", () => {
    const replace = (value: unknown): unknown =>
      jsonPatch(document, [{ op: "replace", path: "", value }]);
    assert.deepEqual(replace({ only: 1 }), { only: 1 });
    assert.deepEqual(replace("x"), document);
  });

  it("changes neither argument, even if operations share a value", () => {
    const operations = [
      { op: "add", path: "/new", value: { inner: [] } },
      { op: "add", path: "/new/inner/-", value: 1 },
      { op: "copy", from: "/new", path: "/again" },
      { op: "add", path: "/again/inner/-", value: 2 },
    ];
    const before = JSON.stringify([document, operations]);
    const result = jsonPatch(document, operations) as { readonly new: unknown };
    assert.deepEqual(result.new, { inner: [1] });
    assert.equal(JSON.stringify([document, operations]), before);
  });

  it("shares with the document what the operations do not change", () => {
    const start = { list: [{ a: [1] }, { b: [2] }], map: { c: {} }, other: { d: {} } };
    const before = JSON.stringify(start);
    const operations = [
      { op: "add", path: "/list/-2/a/-", value: 3 },
      { op: "move", from: "/map/c", path: "/c" },
      { op: "add", path: "/c/e", value: 1 },
      { op: "test", path: "/other/d", value: {} },
    ];
    const result = jsonPatch(start, operations) as typeof start & { readonly c: unknown };
    assert.deepEqual(result.list, [{ a: [1, 3] }, { b: [2] }]);
    assert.deepEqual([result.map, result.c], [{}, { e: 1 }]);
    assert.equal(result.list[1], start.list[1]);
    assert.equal(result.other, start.other);
    assert.equal(JSON.stringify(start), before);
  });

  it("limits the size that copies can add", () => {
    const operations = Array.from({ length: 64 }, () => ({ op: "copy", from: "/a", path: "/a/-" }));
    const start = { a: ["x".repeat(1_000)] };
    assert.match(
      refusal(() => jsonPatch(start, operations)),
      /accumulated size increase of copy/,
    );
  });

  it("rejects values nested beyond the stack", () => {
    let value: unknown = 1;
    for (let depth = 0; depth < 9_000; depth++) value = [value];
    const operation = { op: "add", path: "/x", value };
    assert.match(
      refusal(() => jsonPatch({}, [operation])),
      /depth/,
    );
    assert.match(
      refusal(() => atOnce(mergePatchInSlices({}, { value }))),
      /depth/,
    );
  });
});

describe("merge patch", () => {
  /**
   * The examples of RFC 7386, appendix A, except for nulls inside lists, which Kubernetes drops.
   */
  const rows: readonly (readonly [string, string, string])[] = [
    ['{"a":"b"}', '{"a":"c"}', '{"a":"c"}'],
    ['{"a":"b"}', '{"b":"c"}', '{"a":"b","b":"c"}'],
    ['{"a":"b"}', '{"a":null}', "{}"],
    ['{"a":"b","b":"c"}', '{"a":null}', '{"b":"c"}'],
    ['{"a":["b"]}', '{"a":"c"}', '{"a":"c"}'],
    ['{"a":"c"}', '{"a":["b"]}', '{"a":["b"]}'],
    ['{"a":{"b":"c"}}', '{"a":{"b":"d","c":null}}', '{"a":{"b":"d"}}'],
    ['{"a":[{"b":"c"}]}', '{"a":[1]}', '{"a":[1]}'],
    ['["a","b"]', '["c","d"]', '["c","d"]'],
    ['{"a":"b"}', '["c"]', '["c"]'],
    ['{"a":"foo"}', "null", "null"],
    ['{"e":null}', '{"a":1}', '{"e":null,"a":1}'],
    ["[1,2]", '{"a":"b","c":null}', '{"a":"b"}'],
    ["{}", '{"a":{"bb":{"ccc":null}}}', '{"a":{"bb":{}}}'],
    ["{}", '{"__proto__":{"x":1}}', '{"__proto__":{"x":1}}'],
    ['{"a":1}', '{"a":[{"b":null,"c":1}]}', '{"a":[{"c":1}]}'],
  ];
  for (const [document, patch, expected] of rows) {
    it(`${document} with ${patch}`, () => {
      const result = atOnce(mergePatchInSlices(JSON.parse(document), JSON.parse(patch)));
      assert.equal(JSON.stringify(result), expected);
      assert.equal(({} as { x?: number }).x, undefined);
    });
  }

  it("leaves the document as it was, and shares with it what the patch does not name", () => {
    const document = { labels: { a: "1", b: "2" }, spec: { image: { tag: "1" }, args: ["x"] } };
    const before = structuredClone(document);
    const patch = { labels: { a: null, c: "3" }, spec: { image: { tag: "2" } } };
    const result = atOnce(mergePatchInSlices(document, patch)) as typeof document;
    assert.deepEqual(result.labels, { b: "2", c: "3" });
    assert.deepEqual(result.spec.image, { tag: "2" });
    assert.equal(result.spec.args, document.spec.args);
    assert.deepEqual(document, before);
  });
});

const v1 = structs("api/test/v1");
const env = v1("Env", "A variable.", {
  name: value(1, string, "Name."),
  value: value(2, string, "Value."),
});
const container = v1("Container", "A container.", {
  name: value(1, string, "Name."),
  image: value(2, string, "Image."),
  args: value(3, list(string), "Arguments."),
  env: value(4, list(env), "Variables.", { patchStrategy: ["merge"], patchMergeKey: "name" }),
});
const strategy = v1("Strategy", "A strategy.", {
  type: value(1, string, "Type."),
  rolling: value(2, string, "Parameters."),
});
const thing = v1("Thing", "A thing.", {
  labels: value(1, map(string), "Labels."),
  finalizers: value(2, list(string), "A set.", { patchStrategy: ["merge"] }),
  containers: value(3, list(container), "Merged by name.", {
    patchStrategy: ["merge"],
    patchMergeKey: "name",
  }),
  strategy: value(4, strategy, "Keys may be dropped.", { patchStrategy: ["retainKeys"] }),
  count: value(5, int32, "A number."),
  taints: value(6, list(env), "Replaced as a whole."),
});

/** Two merged lists, a scalar set, a map, and a list without a strategy. */
const one = { name: "one", image: "1", env: [{ name: "A", value: "1" }, { name: "B" }] };
const document = {
  labels: { a: "1", b: "2" },
  finalizers: ["a", "b", "c"],
  containers: [one, { name: "two", image: "2" }, { name: "three" }],
  strategy: { type: "R", rolling: "x" },
  count: 1,
  taints: [{ name: "t" }],
};

describe("strategic merge patch", () => {
  const apply = (patch: unknown): typeof document =>
    atOnce(strategicMergePatchInSlices(thing, document, patch)) as typeof document;
  const names = (patch: unknown): string =>
    apply({ containers: patch })
      .containers.map(({ name }) => name)
      .join(" ");

  it("leaves the document as it was, and shares with it what the patch does not name", () => {
    const before = structuredClone(document);
    const result = apply({
      labels: { a: null },
      containers: [
        { name: "one", env: [{ name: "A", value: "2" }] },
        { name: "two", $patch: "delete" },
      ],
      "$deleteFromPrimitiveList/finalizers": ["a"],
    });
    assert.deepEqual(result.labels, { b: "2" });
    assert.deepEqual(result.finalizers, ["b", "c"]);
    assert.equal(result.strategy, document.strategy);
    assert.deepEqual(document, before);
  });

  it("merges maps and structs, null removes", () => {
    const result = apply({ labels: { a: null, c: "3" }, count: null, strategy: { type: "X" } });
    assert.deepEqual(result.labels, { b: "2", c: "3" });
    assert.equal("count" in result, false);
    assert.deepEqual(result.strategy, { type: "X", rolling: "x" });
  });

  it("merges elements by key, also nested ones", () => {
    const patch = [{ name: "one", image: "9", env: [{ name: "B", value: "2" }, { name: "C" }] }];
    assert.deepEqual(apply({ containers: patch }).containers[0], {
      name: "one",
      image: "9",
      env: [{ name: "A", value: "1" }, { name: "B", value: "2" }, { name: "C" }],
    });
  });

  const orders: readonly (readonly [unknown, string])[] = [
    [[{ name: "new" }], "new one two three"],
    [[{ name: "new" }, { name: "two" }], "new one two three"],
    [[{ name: "two", $patch: "delete" }], "one three"],
    [[{ name: "absent", $patch: "delete" }], "one two three"],
    [[{ $patch: "replace" }, { name: "only" }], "only"],
    [[{ name: "only" }, { $patch: "replace" }], "only"],
    [
      [
        { name: "dup", image: "1" },
        { name: "dup", image: "2" },
      ],
      "dup one two three",
    ],
    [[], "one two three"],
  ];
  for (const [patch, expected] of orders) {
    it(`${JSON.stringify(patch)} gives ${expected}`, () => assert.equal(names(patch), expected));
  }

  it("replaces lists without a merge strategy", () => {
    assert.deepEqual(apply({ taints: [{ name: "u" }] }).taints, [{ name: "u" }]);
    assert.deepEqual(apply({ taints: [] }).taints, []);
  });

  it("adds to and deletes from sets of scalars", () => {
    assert.deepEqual(apply({ finalizers: ["b", "d"] }).finalizers, ["a", "b", "d", "c"]);
    const both = { "$deleteFromPrimitiveList/finalizers": ["b"], finalizers: ["e"] };
    assert.deepEqual(apply(both).finalizers, ["e", "a", "c"]);
    assert.deepEqual(apply({ "$deleteFromPrimitiveList/finalizers": "x" }), document);
  });

  it("orders elements by setElementOrder", () => {
    const order = (key: string, elements: unknown, more: object = {}): typeof document =>
      apply({ [`$setElementOrder/${key}`]: elements, ...more });
    const keys = ["three", "new", "one"].map((name) => ({ name }));
    const added = order("containers", keys, { containers: [{ name: "new" }] });
    assert.equal(added.containers.map(({ name }) => name).join(" "), "two three new one");
    assert.deepEqual(order("finalizers", ["c", "a"]).finalizers, ["b", "c", "a"]);
    assert.equal("$setElementOrder/finalizers" in order("finalizers", ["c"]), false);
  });

  it("drops other keys by $retainKeys", () => {
    const patch = { strategy: { $retainKeys: ["type"], type: "Recreate" } };
    assert.deepEqual(apply(patch).strategy, { type: "Recreate" });
  });

  it("replaces or empties a map by $patch", () => {
    assert.deepEqual(apply({ labels: { $patch: "replace", z: "1" } }).labels, { z: "1" });
    assert.deepEqual(apply({ labels: { $patch: "delete" } }).labels, {});
  });

  it("removes directives from added values", () => {
    const fresh = { name: "n", env: [{ $patch: "replace" }, { name: "E" }], $retainKeys: ["name"] };
    assert.deepEqual(apply({ containers: [fresh] }).containers[0], {
      name: "n",
      env: [{ name: "E" }],
    });
  });

  const order = "The order in patch list:\n";
  const refused: readonly (readonly [unknown, number, string])[] = [
    [
      { containers: [{ image: "x" }] },
      500,
      "map: map[image:x] does not contain declared merge key: name",
    ],
    [
      { containers: [{ $patch: "delete" }] },
      500,
      "map: map[$patch:delete] does not contain declared merge key: name",
    ],
    [
      { containers: [{ name: "one", $patch: "merge" }] },
      500,
      "merging lists cannot yet be specified in the patch",
    ],
    [
      { containers: [{ name: "one", $patch: 5 }] },
      500,
      "unknown patch type: %!s(int64=5) in map: map[$patch:5 name:one]",
    ],
    [
      { labels: { $patch: "bogus", c: "3" } },
      500,
      "unknown patch type: bogus in map: map[$patch:bogus c:3]",
    ],
    [
      { strategy: { $retainKeys: ["rolling"], type: "R" } },
      400,
      "invalid patch format of retainKeys",
    ],
    [{ strategy: { $retainKeys: "type" } }, 400, "invalid patch format of retainKeys"],
    [
      { "$setElementOrder/containers": "b" },
      500,
      "expected a []interface {}, but received a string",
    ],
    [
      { "$setElementOrder/finalizers": ["c"], finalizers: ["new"] },
      500,
      `${order}[new]\n doesn't match $setElementOrder list:\n[c]\n`,
    ],
    [{ $setElementOrder: [] }, 400, "invalid patch format of setElementOrder list"],
    [
      { containers: [null] },
      500,
      "list element types are not identical: " +
        "[[map[env:[map[name:A value:1] map[name:B]] image:1 name:one] " +
        "map[image:2 name:two] map[name:three]] [<nil>]]",
    ],
    [{ "$setElementOrder/containers": ["b"] }, 500, "value for key 0 is not a map"],
  ];
  for (const [patch, code, message] of refused) {
    it(`rejects ${JSON.stringify(patch)}`, () => {
      assert.throws(
        () => apply(patch),
        (fault) => fault instanceof PatchFault && fault.message === message && fault.code === code,
      );
    });
  }

  it("changes neither argument, and treats __proto__ as a key", () => {
    const patch = JSON.parse('{"labels":{"__proto__":"p"},"containers":[{"name":"one"}]}');
    const before = JSON.stringify([document, patch]);
    assert.equal(JSON.stringify(apply(patch).labels), '{"a":"1","b":"2","__proto__":"p"}');
    assert.equal(JSON.stringify([document, patch]), before);
  });

  it("merges long lists in linear time", () => {
    const elements = Array.from({ length: 20_000 }, (_, index) => ({ name: `c${index}` }));
    const patch = { containers: [...elements].reverse() };
    atOnce(strategicMergePatchInSlices(thing, { containers: elements }, patch));
  });
});
