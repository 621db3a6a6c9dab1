/** What a new custom resource is found to set without a detour over sets of fields. */
import assert from "node:assert/strict";
import { atOnce, type JsonObject, printJson, seededRandom } from "#base";
import {
  createdFieldsInSlices,
  managedFieldsAfterUpdate,
  rootShape,
  type Shape,
  setOf,
} from "#fieldmanager";
import { fromJson, toJson, toJsonInSlices, toJsonValue, toJsonValueInSlices } from "#schema";
import { versionSchema } from "./version-schema.ts";

const text = { type: "string" };
const open = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
const item = {
  type: "object",
  required: ["name"],
  properties: { name: text, port: { type: "integer", default: 80 }, more: open },
};
const schema = {
  type: "object",
  properties: {
    spec: {
      type: "object",
      properties: {
        text,
        open,
        keyed: {
          type: "array",
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["name", "port"],
          items: item,
        },
        set: { type: "array", "x-kubernetes-list-type": "set", items: text },
        numbers: { type: "array", "x-kubernetes-list-type": "set", items: { type: "number" } },
        plain: { type: "array", items: item },
        unit: { ...open, "x-kubernetes-map-type": "atomic" },
        labels: { type: "object", additionalProperties: text },
        lists: {
          type: "object",
          additionalProperties: { type: "array", "x-kubernetes-list-type": "set", items: text },
        },
        either: { "x-kubernetes-int-or-string": true },
        embedded: { ...open, "x-kubernetes-embedded-resource": true },
      },
    },
    status: open,
    "x\u{1f680}": { type: "object", properties: { a: text } },
  },
};

describe("managed fields of a new custom resource", () => {
  const definition = { group: "example.com", kind: "Thing", preservesUnknown: false };
  const { struct } = versionSchema(
    { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema } } as never,
    definition,
  );
  const apiVersion = "example.com/v1";
  const left = setOf(["f:status"]);

  /** By comparing the object of its kind with nothing set, and this one. */
  function compared(object: JsonObject): string | undefined {
    const write = {
      kind: "Thing",
      apiVersion,
      manager: "me",
      subresource: "",
      now: "2030-01-01T00:00:00Z",
      annotation: "",
      scope: { ignored: left },
      versions: {
        shapeOf: (): Shape => rootShape(struct),
        convert: (same: JsonObject) => same,
      },
    };
    const entries = atOnce(
      managedFieldsAfterUpdate(write, {
        *objects() {
          const live = yield* toJsonValueInSlices(struct, fromJson(struct, {}, { root: true }));
          return { live, next: yield* toJsonValueInSlices(struct, object as never) };
        },
        creation: true,
        entries: undefined,
        sent: undefined,
      }),
    );
    return entries[0]?.fieldsV1?.text;
  }

  const random = seededRandom("managed fields");
  const chance = (percent: number): boolean => random.below(100) < percent;
  const names = [
    "a",
    "b10",
    "b9",
    "",
    "é",
    "\u{1f680}",
    "\uffee",
    'q"\\',
    "constructor",
    "10",
    "9",
  ];
  const some = <V>(make: () => V): V[] => Array.from({ length: random.below(4) }, make);

  function anything(depth: number): unknown {
    if (depth === 0 || chance(40)) return random.pick([null, true, "x", 0, 1.5, "", 2n ** 60n]);
    if (chance(30)) return some(() => anything(depth - 1));
    return Object.fromEntries(some(() => [random.pick(names), anything(depth - 1)]));
  }

  function keyedItem(): unknown {
    const port = random.pick([{}, { port: 80 }, { port: 9 }]);
    return { ...port, ...(chance(50) ? { more: anything(2) } : {}), name: random.pick(names) };
  }

  function thing(): JsonObject {
    const spec = {
      text: "x",
      open: anything(4),
      keyed: some(keyedItem),
      set: some(() => random.pick(names)),
      numbers: some(() => random.pick([1, 10, 9, 1.5, -1])),
      plain: some(keyedItem),
      unit: anything(3),
      labels: Object.fromEntries(some(() => [random.pick(names), "x"])),
      lists: Object.fromEntries(some(() => [random.pick(names), some(() => random.pick(names))])),
      either: random.pick([1, "1", null]),
      embedded: { apiVersion: "v1", kind: "A", metadata: { name: "n" }, data: anything(2) },
    };
    const kept = Object.entries(spec).filter(() => chance(70));
    const metadata = { name: "n", labels: { a: "b" }, uid: "u" };
    return {
      status: anything(2),
      spec: Object.fromEntries(kept),
      "x\u{1f680}": { a: "" },
      metadata,
    };
  }

  it("contain all fields of the object", () => {
    const stripped = setOf(["f:status"], ["f:metadata", "f:name"], ["f:metadata", "f:uid"]);
    for (let round = 0; round < 500; round++) {
      const object = thing();
      const created = atOnce(createdFieldsInSlices(struct, object as never, stripped));
      assert.equal(created, compared(object));
    }
  });

  it("are printed and copied alike in slices and at once", () => {
    const typeMeta = { kind: "Thing", apiVersion };
    const wide = Object.fromEntries(Array.from({ length: 2500 }, (_, i) => [`k${i}`, "<"]));
    const long = Array.from({ length: 2500 }, (_, i) => ({ name: `n${i}`, port: i }));
    const objects = Array.from({ length: 200 }, thing) as never[];
    objects.push({ metadata: { name: "n" }, spec: { open: wide, plain: long } } as never);
    for (const object of objects) {
      const text = toJson(struct, object, typeMeta);
      assert.equal(atOnce(toJsonInSlices(struct, object, typeMeta)), text);
      const copy = atOnce(toJsonValueInSlices(struct, object, typeMeta));
      assert.equal(printJson(copy), printJson(toJsonValue(struct, object, typeMeta)));
    }
  });

  it("are empty if list elements have equal keys", () => {
    for (const element of ["text", null, []]) {
      const object = { metadata: {}, spec: { keyed: [element] } };
      const created = createdFieldsInSlices(struct, object as never, left);
      assert.throws(() => atOnce(created), /associative list with keys/);
    }
  });
});
