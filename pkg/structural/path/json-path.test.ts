import assert from "node:assert/strict";
import { JsonPath, parseSimplePath, setValueAt, valueAt } from "../index.ts";

const value = {
  spec: {
    size: 5,
    list: [
      { n: "a", v: 1 },
      { n: "b", v: 2 },
      { n: "c", v: 3 },
    ],
    map: { "k.1": "x", k: { "1": "y" } },
  },
  metadata: { labels: { "example.com/part": "p" } },
};

describe("JSONPath", () => {
  const cases: readonly (readonly [string, ...unknown[]])[] = [
    [".spec.size", 5],
    [".spec.none.deeper"],
    [".spec.list[0].n", "a"],
    [".spec.list[-1:].n", "c"],
    [".spec.list[-1].n", "c"],
    [".spec.list[0:2].n", "a", "b"],
    [".spec.list[::2].n", "a", "c"],
    [".spec.list[*].v", 1, 2, 3],
    [".spec.list[0,2].v", 1, 3],
    ['.spec.list[?(@.n=="b")].v', 2],
    [".spec.list[?(@.v>=2)].n", "b", "c"],
    [".spec.list[?(@.none)].n"],
    [".metadata.labels.example\\.com/part", "p"],
    [".spec.map['k\\.1']", "x"],
    [".spec.map['k.1']", "y"],
    ["..v", 1, 2, 3],
  ];
  for (const [path, ...found] of cases) {
    it(path, () => assert.deepEqual(JsonPath.parse(path)?.find(value), found));
  }

  for (const path of [".a[", ".a['b", ".a[x]", ".a[?(b==1)]", ".a[1:2:0]", ".a b"]) {
    it(`rejects ${path}`, () => assert.equal(JsonPath.parse(path), undefined));
  }

  it("limits the number of values found", () => {
    let deep: unknown = 1;
    for (let depth = 0; depth < 200; depth++) deep = [deep, deep];
    const found = JsonPath.parse("..[*]..[*]..[*]")?.find(deep) ?? [];
    assert.ok(found.length <= 20_000);
  });
});

describe("simple paths", () => {
  it("are read and written", () => {
    const object = {};
    const path = parseSimplePath(".spec.replicas");
    assert.equal(valueAt(object, path), undefined);
    assert.ok(setValueAt(object, path, 3));
    assert.deepEqual(object, { spec: { replicas: 3 } });
    assert.equal(valueAt(object, path), 3);
    assert.equal(setValueAt({ spec: 1 }, path, 3), false);
    assert.equal(valueAt({}, parseSimplePath(".__proto__.x")), undefined);
  });
});
