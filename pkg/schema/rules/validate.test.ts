import assert from "node:assert/strict";
import { seededRandom } from "#base";
import { arbitrary } from "../arbitrary.ts";
import { bool, int32, list, map, pointer, value, string, structs } from "../struct/declare.ts";
import { applyDefaults } from "./defaults.ts";
import { fromJson } from "../json/from-json.ts";
import { mergeRules } from "./merge-rules.ts";
import { Path, Problems } from "./problems.ts";
import { protoText } from "../protobuf/proto-text.ts";
import { amount, meta, moment, node, port, spec, thing } from "../testing.ts";
import { checkImmutable } from "./update-rules.ts";
import { checkFields } from "./validate.ts";

const v1 = structs("api/sample/v1");

describe("applyDefaults", () => {
  it("fills in absent fields, and zero values that are not pointers", () => {
    const ports = [{ protocol: "UDP" }, {}];
    const object = fromJson(spec, { ports, tree: { below: [{}] } }) as any;
    applyDefaults(spec, object);
    assert.equal(object.count, 3);
    assert.deepEqual(object.ports, [
      { number: 0, protocol: "UDP" },
      { number: 0, protocol: "TCP" },
    ]);
    assert.deepEqual(object.tree, { value: 7, below: [{ value: 7 }] });
  });

  it("keeps the zero value of a pointer, and creates no absent optional structs", () => {
    const object = fromJson(spec, { count: 0 }) as any;
    applyDefaults(spec, object);
    assert.equal(object.count, 0);
    assert.equal("tree" in object, false);
  });

  it("copies the default into each object", () => {
    const struct = v1("Lists", "", { tags: value(1, list(string), "", { default: ["a"] }) });
    const [one, two] = [{}, {}] as any[];
    applyDefaults(struct, one);
    applyDefaults(struct, two);
    one.tags.push("b");
    assert.deepEqual(two.tags, ["a"]);
  });
});

describe("checkFields", () => {
  const struct = v1("Checked", "", {
    name: value(1, string, "", { required: true }),
    at: pointer(2, int32, "", { minimum: 0 }),
    low: value(3, int32, "", { maximum: 9 }),
    span: value(4, int32, "", { minimum: 1, maximum: 3 }),
    items: value(5, map(port), ""),
    words: value(6, list(string), "", { required: true, maxLength: 2 }),
    flag: pointer(7, bool, "", { required: true }),
  });

  function problems(object: unknown): readonly string[] {
    const found = new Problems();
    checkFields(struct, fromJson(struct, object), Path.of("spec"), found);
    return found.list.map(({ type, field, detail }) => `${field} ${type} ${detail}`.trim());
  }

  it("accepts valid values", () => {
    const good = { name: "a", at: 0, low: 9, span: 3, words: ["w"], flag: false };
    assert.deepEqual(problems(good), []);
    assert.deepEqual(problems({ ...good, items: { a: { number: 80, protocol: "TCP" } } }), []);
  });

  it("has Kubernetes' messages, in the order of declaration", () => {
    assert.deepEqual(
      problems({
        at: -1,
        low: 10,
        span: 4,
        items: { b: { number: 70000 }, a: { number: 1, protocol: "ICMP" } },
        words: ["a", "b", "c"],
      }),
      [
        "spec.name FieldValueRequired",
        "spec.at FieldValueInvalid must be greater than or equal to 0",
        "spec.low FieldValueInvalid must be less than or equal to 9",
        "spec.span FieldValueInvalid must be between 1 and 3, inclusive",
        'spec.items[a].protocol FieldValueNotSupported supported values: "TCP", "UDP"',
        "spec.items[b].number FieldValueInvalid must be between 1 and 65535, inclusive",
        "spec.words FieldValueTooMany must have at most 2 items",
        "spec.flag FieldValueRequired",
      ],
    );
  });

  it("checks strings by bytes and pattern, also in nested structs", () => {
    const found = new Problems();
    const object = fromJson(thing, { spec: { note: "éééA", ports: [{ number: 0 }] } });
    checkFields(thing, object, Path.root, found);
    assert.deepEqual(
      found.list.map(({ field, detail }) => `${field}: ${detail}`),
      [
        "spec.ports[0].number: must be between 1 and 65535, inclusive",
        "spec.note: may not be more than 5 bytes",
        "spec.note: must match the regex ^[a-z]*$",
      ],
    );
  });
});

describe("checkImmutable", () => {
  it("compares declared fields at any depth", () => {
    const found = new Problems();
    const old = fromJson(thing, { spec: { type: "A", big: 1 } });
    checkImmutable(thing, fromJson(thing, { spec: { type: "A", big: 2 } }), old, Path.root, found);
    assert.equal(found.empty, true);
    checkImmutable(thing, fromJson(thing, { spec: { type: "B" } }), old, Path.root, found);
    checkImmutable(thing, fromJson(thing, {}), old, Path.root, found);
    assert.deepEqual(
      found.list.map(({ field, value, detail }) => [field, value, detail]),
      [
        ["spec.type", "B", "field is immutable"],
        ["spec.type", undefined, "field is immutable"],
      ],
    );
  });
});

describe("mergeRules", () => {
  it("returns the merge rules of fields, also of inline and recursive structs", () => {
    const ports = mergeRules(spec, "ports");
    assert.deepEqual(ports?.strategies, ["merge"]);
    assert.equal(ports?.mergeKey, "number");
    assert.equal(ports?.isAtomic, true);
    assert.equal(mergeRules(spec, "path")?.type.tag, "string");
    assert.equal(mergeRules(spec, "source"), undefined);
    assert.equal(mergeRules(node, "below")?.type.tag, "list");
    assert.equal(mergeRules(meta, "labels")?.isAtomic, false);
    assert.equal(mergeRules(meta, "constructor"), undefined);
  });
});

describe("arbitrary", () => {
  it("is reproducible by its seed, and terminates for recursive types", () => {
    assert.deepEqual(arbitrary(thing, seededRandom(5)), arbitrary(thing, seededRandom(5)));
    assert.notDeepEqual(arbitrary(thing, seededRandom(5)), arbitrary(thing, seededRandom(6)));
    for (let seed = 0; seed < 50; seed++) {
      assert.ok(JSON.stringify(arbitrary(node, seededRandom(seed))).length < 100_000);
    }
  });

  it("obeys the declared rules", () => {
    for (let seed = 0; seed < 100; seed++) {
      const found = new Problems();
      const object = arbitrary(port, seededRandom(seed));
      if (object.number === 0) continue;
      checkFields(port, object, Path.root, found);
      assert.deepEqual(found.list, [], `seed ${seed}`);
    }
  });
});

describe("protoText", () => {
  it("prints messages with fields in the order of their numbers", () => {
    const other = structs("api/other/v1")("Uses", "Uses a message of another package.", {
      times: value(2, list(moment), "Moments."),
      amounts: value(3, map(amount), "Amounts."),
      own: pointer(1, bool, "Own.", { protoName: "its_own" }),
      text: value(0, string, "Not on the wire."),
    });
    const packageName = (path: string) => `k.${path.replaceAll("/", ".")}`;
    const text = protoText("api/other/v1", [other], { packageName });
    assert.equal(
      text,
      [
        'syntax = "proto2";',
        "",
        "package k.api.other.v1;",
        "",
        'import "api/sample/v1/generated.proto";',
        "",
        "// Uses a message of another package.",
        "message Uses {",
        "  // Own.",
        "  optional bool its_own = 1;",
        "",
        "  // Moments.",
        "  repeated .k.api.sample.v1.Moment times = 2;",
        "",
        "  // Amounts.",
        "  map<string, .k.api.sample.v1.Amount> amounts = 3;",
        "}",
        "",
      ].join("\n"),
    );
  });
});
