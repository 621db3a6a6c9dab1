import assert from "node:assert/strict";
import { orderGroups } from "./group-order.ts";

/** `group/version groupPriority versionPriority`, one per line. */
function ordered(text: string, ties: "group" | "apiService"): string[] {
  const all = text
    .trim()
    .split("\n")
    .map((line) => {
      const [name = "", group = 0, version = 0] = line.trim().split(/[ ]+/);
      const [groupName = "", versionName = ""] = name.split("/");
      return {
        group: groupName,
        version: versionName,
        groupPriorityMinimum: Number(group),
        versionPriority: Number(version),
      };
    });
  return orderGroups(all, ties).map(
    ({ name, versions }) => `${name}: ${versions.map(({ version }) => version).join(" ")}`,
  );
}

describe("orderGroups", () => {
  it("orders groups by the largest priority of their versions", () => {
    const all = `
      low/v1 100 15
      mixed/v1 50 15
      mixed/v2 300 15
      high/v1 200 15`;
    assert.deepEqual(ordered(all, "group"), ["mixed: v2 v1", "high: v1", "low: v1"]);
  });

  it("orders versions by priority, then by stability and number", () => {
    const all = `
      a/v1 100 10
      a/v2 100 10
      a/v3alpha1 100 20
      a/v11beta2 100 10
      a/foo 100 10
      a/v10 100 10`;
    assert.deepEqual(ordered(all, "group"), ["a: v3alpha1 v10 v2 v1 v11beta2 foo"]);
  });

  it("breaks ties of groups by name, and in /apis by the name of the first APIService", () => {
    const all = `
      apple/v1alpha1 1000 100
      zebra/v1 1000 100
      zebra/v1alpha1 900 100`;
    assert.deepEqual(ordered(all, "group"), ["apple: v1alpha1", "zebra: v1 v1alpha1"]);
    assert.deepEqual(ordered(all, "apiService"), ["zebra: v1 v1alpha1", "apple: v1alpha1"]);
  });
});
