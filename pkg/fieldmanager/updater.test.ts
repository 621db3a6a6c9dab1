import assert from "node:assert/strict";
import { atOnce, deepEqual, type JsonObject, type Random, seededRandom } from "#base";
import { compare } from "./typed/compare.ts";
import { emptySet, setOf, union } from "./fieldpath/set.ts";
import { shape, shape2 } from "./testing.ts";
import { toFieldSet } from "./typed/to-field-set.ts";
import { managerIdentifier, type Manager, Managers } from "./managers.ts";
import { merge } from "./typed/merge.ts";
import { apply, type Change, ConflictError, pathText, update } from "./updater.ts";

const noScope = { ignored: emptySet };

const change: Change = {
  versions: { shapeOf: (version) => (version === "v1" ? shape : undefined), convert: (o) => o },
  apiVersion: "v1",
  scope: noScope,
};

function managerOf(name: string, operation: "Apply" | "Update"): Omit<Manager, "fields" | "time"> {
  return { name, operation, subresource: "", apiVersion: "v1" };
}

/** The object without nulls and empty lists and maps, which decoding drops. */
function decoded(object: JsonObject): JsonObject {
  const isKept = (value: unknown): boolean =>
    value !== null && (typeof value !== "object" || Object.keys(value as object).length > 0);
  return Object.fromEntries(Object.entries(object).filter(([, value]) => isKept(value)));
}

/** An object and its managers after a sequence of applies and updates. */
class Story {
  constructor(
    readonly object: JsonObject = {},
    readonly managers: Managers = new Managers(),
  ) {}

  apply(name: string, configuration: JsonObject, force = false): Story {
    const manager = managerOf(name, "Apply");
    const id = managerIdentifier(manager);
    const application = { live: this.object, configuration, manager, id, force };
    const { object, managers } = atOnce(apply(change, application, this.managers));
    return new Story(object === undefined ? this.object : decoded(object), managers);
  }

  update(name: string, next: JsonObject): Story {
    const manager = managerOf(name, "Update");
    const by = { managers: this.managers, self: managerIdentifier(manager) };
    const outcome = atOnce(update(change, { live: this.object, next }, by));
    outcome.managers.put({ ...manager, fields: outcome.fields, time: undefined });
    outcome.managers.dropEmpty();
    return new Story(next, outcome.managers);
  }

  /** `a: {"f:data":{"f:x":{}}} | b: {"f:text":{}}` */
  get managedFields(): string {
    return [...this.managers]
      .map(([, { name, fields }]) => `${name}: ${JSON.stringify(fields)}`)
      .join(" | ");
  }
}

/** An update by a manager without an entry. */
function byAnother(managers = new Managers()) {
  return { managers, self: managerIdentifier(managerOf("another", "Update")) };
}

/** The conflicts with which the apply fails, as `manager path`. */
function conflicts(run: () => Story): readonly string[] {
  try {
    run();
  } catch (fault) {
    if (!(fault instanceof ConflictError)) throw fault;
    return fault.conflicts.map(({ manager, path }) => `${manager.name} ${pathText(path)}`);
  }
  return [];
}

describe("apply", () => {
  it("adds to maps, sets and keyed lists, replaces atomic values", () => {
    const both = new Story()
      .apply("a", {
        data: { x: "1" },
        tags: ["t", "s"],
        ports: [{ port: 80 }],
        args: ["1"],
      })
      .apply("b", {
        data: { y: "2" },
        tags: ["r", "t"],
        ports: [
          { port: 80, protocol: "UDP" },
          { port: 80, protocol: "TCP", name: "web" },
        ],
      });
    assert.deepEqual(both.object, {
      data: { x: "1", y: "2" },
      tags: ["r", "t", "s"],
      ports: [
        { port: 80, protocol: "UDP" },
        { port: 80, protocol: "TCP", name: "web" },
      ],
      args: ["1"],
    });
  });

  it("removes fields that its manager no longer applies and that have no other manager", () => {
    const start = new Story()
      .apply("a", { data: { x: "1", y: "1", z: "1" }, text: "t" })
      .apply("b", { data: { y: "1" } });
    const after = start.apply("a", { data: { z: "1" } });
    assert.deepEqual(after.object, { data: { y: "1", z: "1" } });
    assert.deepEqual(after.apply("b", {}).object, { data: { z: "1" } });
  });

  it("keeps fields that an updater manages", () => {
    const start = new Story().apply("a", { data: { x: "1" } });
    const touched = start.update("u", { data: { x: "2" } });
    assert.deepEqual(touched.apply("a", {}).object, { data: { x: "2" } });
  });

  it("keeps fields of a removed list item that others manage", () => {
    const start = new Story()
      .apply("a", { ports: [{ port: 1 }, { port: 2 }] })
      .apply("b", { ports: [{ port: 2, name: "two" }] });
    const after = start.apply("a", {});
    assert.deepEqual(after.object, { ports: [{ port: 2, name: "two" }] });
  });

  it("conflicts only if values differ, and takes the fields over with force", () => {
    const start = new Story().apply("a", { text: "1", data: { x: "1" }, unit: { a: "1" } });
    assert.deepEqual(
      conflicts(() => start.apply("b", { text: "1" })),
      [],
    );
    assert.deepEqual(
      conflicts(() => start.apply("b", { text: "2", data: { x: "2", y: "2" }, unit: { b: "1" } })),
      ["a .text", "a .unit", "a .data.x"],
    );
    const forced = start.apply("b", { text: "2" }, true);
    assert.equal(forced.object["text"], "2");
    assert.doesNotMatch(forced.managedFields.split(" | ")[0] ?? "", /f:text/);
  });

  it("names conflicts in keyed lists and sets by their keys", () => {
    const start = new Story().apply("a", { ports: [{ port: 80, name: "x" }] });
    assert.deepEqual(
      conflicts(() => start.apply("b", { ports: [{ port: 80, name: "y" }] })),
      ['a .ports[port=80,protocol="TCP"].name'],
    );
  });

  it("of the same configuration changes nothing", () => {
    const configuration = { data: { x: "1" }, ports: [{ port: 1 }], tags: ["t"] };
    const once = new Story().apply("a", configuration);
    const twice = once.apply("a", configuration);
    assert.equal(twice.object, once.object);
    assert.equal(twice.managedFields, once.managedFields);
  });
});

/** A configuration whose keys start with `prefix`, so that those of other prefixes are disjoint. */
function arbitraryPart(random: Random, prefix: string): JsonObject {
  const names = (count: number): string[] =>
    Array.from({ length: random.below(count) }, () => `${prefix}${random.below(4)}`);
  const numbers = [...new Set(names(4).map((name) => name.charCodeAt(0) * 10 + random.below(3)))];
  const part = {
    data: Object.fromEntries(names(4).map((name) => [name, String(random.below(3))])),
    tags: [...new Set(names(4))],
    ports: numbers.map((number) => ({ port: number, name: `${prefix}${random.below(3)}` })),
  };
  // Empty maps are dropped: an applied empty map is itself managed, and others would conflict with it.
  return decoded(Object.fromEntries(Object.entries(part).filter(() => random.next() < 0.7)));
}

function inAnyOrder(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.map(inAnyOrder).sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
  }
  return value;
}

function withoutOrder(object: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, inAnyOrder(value)]));
}

describe("apply of random configurations", () => {
  const rounds = 300;

  it("of disjoint managers commutes except for the order of lists", () => {
    const random = seededRandom("disjoint");
    for (let round = 0; round < rounds; round++) {
      const [a, b] = [arbitraryPart(random, "a"), arbitraryPart(random, "b")];
      const [c, d] = [arbitraryPart(random, "a"), arbitraryPart(random, "b")];
      const start = new Story().apply("a", a).apply("b", b);
      const one = start.apply("a", c).apply("b", d);
      const other = start.apply("b", d).apply("a", c);
      const message = `round ${round}: ${JSON.stringify({ a, b, c, d })}`;
      assert.deepEqual(withoutOrder(one.object), withoutOrder(other.object), message);
    }
  });

  it("is idempotent, and the object contains the configuration", () => {
    const random = seededRandom("idempotent");
    let story = new Story();
    for (let round = 0; round < rounds; round++) {
      const name = random.pick(["a", "b"]);
      const part = arbitraryPart(random, name);
      story = story.apply(name, part);
      assert.deepEqual(story.apply(name, part).object, story.object, `round ${round}`);
      const merged = decoded(merge(shape, story.object, part));
      assert.ok(deepEqual(merged, story.object), `round ${round}: contains the configuration`);
    }
  });

  it("of empty configurations removes all fields and managers", () => {
    const random = seededRandom("nothing");
    for (let round = 0; round < rounds; round++) {
      const story = new Story()
        .apply("a", arbitraryPart(random, "a"))
        .apply("b", arbitraryPart(random, "b"))
        .apply("a", {})
        .apply("b", {});
      assert.deepEqual(withoutOrder(story.object), {}, `round ${round}`);
      assert.equal(story.managers.size, 0);
    }
  });
});

function renamed(object: JsonObject, from: string, to: string): JsonObject {
  const { [from]: value, ...rest } = object;
  return value === undefined ? object : { ...rest, [to]: value };
}

const inV2 = (object: JsonObject): JsonObject => renamed(object, "data", "entries");
const inV1 = (object: JsonObject): JsonObject => renamed(object, "entries", "data");

/** An object in v1, with managers of both versions. */
class TwoVersions {
  constructor(
    readonly object: JsonObject = {},
    readonly managers: Managers = new Managers(),
  ) {}

  /** Applies a configuration, given in v1, through the endpoint of `apiVersion`. */
  apply(name: string, part: JsonObject, apiVersion: "v1" | "v2"): TwoVersions {
    const shapes = new Map([
      ["v1", shape],
      ["v2", shape2],
    ]);
    const toRequestVersion = apiVersion === "v1" ? inV1 : inV2;
    const versions: Change["versions"] = {
      shapeOf: (version) => shapes.get(version),
      convert: (object, _from, to) => (to === "v1" ? inV1(object) : inV2(object)),
    };
    const manager = { ...managerOf(name, "Apply"), apiVersion };
    const id = managerIdentifier(manager);
    const [live, configuration] = [toRequestVersion(this.object), toRequestVersion(part)];
    const application = { live, configuration, manager, id, force: false };
    const requestChange: Change = { versions, apiVersion, scope: noScope };
    const { object, managers } = atOnce(apply(requestChange, application, this.managers));
    return new TwoVersions(object === undefined ? this.object : decoded(inV1(object)), managers);
  }
}

describe("apply in several versions", () => {
  const rounds = 300;
  const arbitraryVersion = (random: Random): "v1" | "v2" => random.pick(["v1", "v2"]);

  it("has the same result in each, and repeating it in another changes nothing", () => {
    const random = seededRandom("versions");
    let [mixed, onlyV1] = [new TwoVersions(), new TwoVersions()];
    for (let round = 0; round < rounds; round++) {
      const name = random.pick(["a", "b"]);
      const part = arbitraryPart(random, name);
      mixed = mixed.apply(name, part, arbitraryVersion(random));
      onlyV1 = onlyV1.apply(name, part, "v1");
      assert.deepEqual(withoutOrder(mixed.object), withoutOrder(onlyV1.object), `round ${round}`);
      const repeated = mixed.apply(name, part, arbitraryVersion(random));
      assert.equal(repeated.object, mixed.object, `round ${round}: repeated`);
      assert.ok(repeated.managers.size <= 2, "one entry per applier");
    }
  });

  it("of disjoint managers commutes across versions", () => {
    const random = seededRandom("disjoint versions");
    for (let round = 0; round < rounds; round++) {
      const [a, b, c] = ["a", "b", "a"].map((name) => arbitraryPart(random, name)) as [
        JsonObject,
        JsonObject,
        JsonObject,
      ];
      const [first, second] = [arbitraryVersion(random), arbitraryVersion(random)];
      const start = new TwoVersions().apply("a", a, "v1");
      const one = start.apply("b", b, first).apply("a", c, second);
      const other = start.apply("a", c, second).apply("b", b, first);
      const message = `round ${round}: ${JSON.stringify({ a, b, c, first, second })}`;
      assert.deepEqual(withoutOrder(one.object), withoutOrder(other.object), message);
    }
  });
});

describe("update", () => {
  it("filters the fields of other versions unless the filter is of one version", () => {
    const versions: Change["versions"] = { shapeOf: () => shape, convert: (object) => object };
    const other = { ...managerOf("other", "Update"), apiVersion: "v2" };
    const fields = setOf(["f:text"], ["f:number"]);
    const managers = new Managers();
    managers.put({ ...other, fields, time: "" });
    const left = (ofVersion: boolean) => {
      const scope = { ignored: setOf(["f:text"]), ofVersion };
      const objects = { live: { text: "a", number: 1 }, next: { text: "b", number: 1 } };
      const outcome = atOnce(
        update({ versions, apiVersion: "v1", scope }, objects, byAnother(managers)),
      );
      return [...outcome.managers].map(([, each]) => each.fields);
    };
    assert.deepEqual(left(false), [fields]);
    assert.deepEqual(left(true), [setOf(["f:number"])]);
  });

  it("manages added and modified fields, and new maps that contain them", () => {
    const fields = (live: JsonObject, next: JsonObject): unknown =>
      atOnce(update(change, { live, next }, byAnother())).fields;
    assert.deepEqual(fields({}, { data: { x: "1" } }), { "f:data": { ".": {}, "f:x": {} } });
    assert.deepEqual(fields({ data: {} }, { data: { x: "1" } }), { "f:data": { "f:x": {} } });
    assert.deepEqual(fields({ whole: { a: "1" } }, { whole: { b: "1" } }), { "f:whole": {} });
    assert.deepEqual(fields({ text: "1" }, {}), {});
  });

  it("removes changed and removed fields from other managers", () => {
    const story = new Story()
      .apply("a", { data: { x: "1", y: "1", z: "1" } })
      .update("u", { data: { x: "1", y: "2" } });
    assert.equal(story.managedFields, 'a: {"f:data":{"f:x":{}}} | u: {"f:data":{"f:y":{}}}');
  });

  it("drops managers of versions that no longer exist", () => {
    const managers = new Managers();
    managers.put({ ...managerOf("old", "Update"), apiVersion: "v0", fields: {}, time: undefined });
    assert.equal(
      atOnce(update(change, { live: {}, next: {} }, byAnother(managers))).managers.size,
      0,
    );
  });

  it("replaces members below a value that has become atomic", () => {
    const managers = new Managers();
    const fields = setOf(["f:unit", "f:a"], ["f:text"]);
    managers.put({ ...managerOf("m", "Update"), fields, time: undefined });
    const object = { unit: { a: "1" }, text: "t" };
    const updated = atOnce(update(change, { live: object, next: object }, byAnother(managers)));
    const [[, manager] = []] = [...updated.managers];
    assert.deepEqual(manager?.fields, setOf(["f:unit"], ["f:text"]));
  });
});

describe("typed values", () => {
  it("compare by the type of list and map", () => {
    const before = { data: { a: "1", b: "1" }, tags: ["x"], args: ["1"], ports: [{ port: 1 }] };
    const after = { data: { a: "2" }, tags: ["y"], args: ["2"], ports: [{ port: 1, name: "n" }] };
    assert.deepEqual(compare(shape, before, after), {
      added: {
        "f:tags": { 'v:"y"': {} },
        "f:ports": { 'k:{"port":1,"protocol":"TCP"}': { "f:name": {} } },
      },
      modified: { "f:data": { "f:a": {} }, "f:args": {} },
      removed: { "f:data": { "f:b": {} }, "f:tags": { 'v:"x"': {} } },
    });
  });

  it("of large maps and lists compare and merge the same across slices", () => {
    const indexes = Array.from({ length: 2500 }, (_, index) => index);
    const data = Object.fromEntries(indexes.map((index) => [`k${index}`, "1"]));
    const ports = indexes.map((port) => ({ port }));
    const { k0: _first, k999: _last, ...rest } = data;
    const after = {
      data: { ...rest, k1000: "2", k1999: "2", new: "1" },
      ports: [...ports.slice(1), { port: 2500 }],
    };
    const port = (number: number): string => `k:{"port":${number},"protocol":"TCP"}`;
    const keyed = (number: number): object => ({
      "f:ports": { [port(number)]: { ".": {}, "f:port": {} } },
    });
    const updated = atOnce(update(change, { live: { data, ports }, next: after }, byAnother()));
    const { added, modified, removed } = compare(shape, { data, ports }, after);
    assert.deepEqual(updated.fields, union(added, modified));
    assert.deepEqual(
      { added, modified, removed },
      {
        added: { "f:data": { "f:new": {} }, ...keyed(2500) },
        modified: { "f:data": { "f:k1000": {}, "f:k1999": {} } },
        removed: { "f:data": { "f:k0": {}, "f:k999": {} }, ...keyed(0) },
      },
    );
    const merged = merge(shape, { data, ports }, after);
    const story = new Story({ data, ports }).apply("m", after);
    assert.deepEqual(merged, {
      data: { ...data, ...after.data },
      ports: [...ports, { port: 2500 }],
    });
    assert.deepEqual(story.object, merged);
    const set = toFieldSet(shape, after);
    const [members, items] = [Object.keys(set["f:data"] ?? {}), Object.keys(set["f:ports"] ?? {})];
    assert.deepEqual(
      members,
      Object.keys(after.data).map((key) => `f:${key}`),
    );
    assert.deepEqual(
      items,
      after.ports.map((item) => port(item.port)),
    );
  });

  it("compare items with duplicate keys as one", () => {
    const twice = { tags: ["x", "x"] };
    const added = setOf(["f:tags", 'v:"x"']);
    assert.deepEqual(compare(shape, { tags: ["y"] }, { tags: ["x", "x", "y"] }).added, added);
    assert.deepEqual(compare(shape, twice, { tags: ["x", "x"] }).modified, {});
    assert.deepEqual(toFieldSet(shape, twice), added);
  });
});
