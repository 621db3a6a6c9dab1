import assert from "node:assert/strict";
import { OpaqueJson } from "#base";
import { capUpdaters, type ManagedFieldsEntry, Managers, ManagedFieldsError } from "./managers.ts";

/** Parses `Update a 3 f:x`: an update by manager a at second 3; `-` is an entry without a time. */
function entry(text: string): ManagedFieldsEntry {
  const [operation = "", manager = "", second = "", field = ""] = text.split(" ");
  return {
    manager,
    operation,
    apiVersion: "v1",
    ...(second === "-" ? {} : { time: `2024-01-01T00:00:${second.padStart(2, "0")}Z` }),
    fieldsType: "FieldsV1",
    fieldsV1: OpaqueJson.of({ [field]: {} }),
  };
}

function describeEntries(managers: Managers): readonly string[] {
  return managers.entries().map(({ operation, manager, time, fieldsV1 }) => {
    const second = time === undefined ? "-" : String(Number(time?.slice(17, 19)));
    return `${operation} ${manager} ${second} ${Object.keys(fieldsV1?.value as object).join("+")}`;
  });
}

describe("Managers", () => {
  it("lists appliers first, then sorts by second, then by name", () => {
    const entries = ["Update a 1 f:a", "Apply z 5 f:z", "Update b 1 f:b", "Apply y - f:y"];
    assert.deepEqual(describeEntries(Managers.read(entries.map(entry))), [
      "Apply y - f:y",
      "Apply z 5 f:z",
      "Update a 1 f:a",
      "Update b 1 f:b",
    ]);
  });

  it("keeps the last of several entries of a manager", () => {
    const managers = Managers.read([entry("Update a 1 f:a"), entry("Update a 2 f:b")]);
    assert.deepEqual(describeEntries(managers), ["Update a 2 f:b"]);
  });

  it("identifies appliers without their version, updaters with it", () => {
    const versions = (text: string): number =>
      Managers.read([entry(text), { ...entry(text), apiVersion: "v2" }]).size;
    assert.deepEqual([versions("Apply a 1 f:a"), versions("Update a 1 f:a")], [1, 2]);
  });

  const malformed: readonly ManagedFieldsEntry[] = [
    { ...entry("Patch a 1 f:a") },
    { ...entry("Update a 1 f:a"), apiVersion: "" },
    { ...entry("Update a 1 f:a"), fieldsType: "FieldsV2" },
    { ...entry("Update a 1 f:a"), fieldsType: "" },
    { ...entry("Update a 1 f:a"), fieldsV1: OpaqueJson.of({ a: {} }) },
  ];
  for (const invalid of malformed) {
    it(`rejects ${JSON.stringify(invalid)}`, () =>
      assert.throws(() => Managers.read([invalid]), ManagedFieldsError));
  }

  it("merges the oldest updaters when there are more than ten", () => {
    const entries = Array.from({ length: 12 }, (_, at) => entry(`Update m${at} ${at} f:${at}`));
    const managers = Managers.read([entry("Apply x 0 f:x"), ...entries]);
    capUpdaters(managers);
    const remaining = describeEntries(managers);
    assert.equal(remaining.length, 11);
    assert.deepEqual(remaining.slice(0, 3), [
      "Apply x 0 f:x",
      "Update ancient-changes 2 f:0+f:1+f:2",
      "Update m3 3 f:3",
    ]);
    managers.put({ ...[...Managers.read([entry("Update n 30 f:n")])][0]![1] });
    capUpdaters(managers);
    assert.equal(describeEntries(managers)[1], "Update ancient-changes 3 f:0+f:1+f:2+f:3");
  });

  it("decodes and merges a hundred thousand updaters in linear time", () => {
    const count = 100_000;
    const entries = Array.from({ length: count }, (_, at) => entry(`Update m${at} 1 f:${at}`));
    const start = process.cpuUsage().user;
    const managers = Managers.read(entries);
    capUpdaters(managers);
    managers.entries();
    assert.equal(managers.size, 10);
    // Seconds of CPU; a quadratic merge takes minutes.
    assert.ok(process.cpuUsage().user - start < 10_000_000);
  });
});
