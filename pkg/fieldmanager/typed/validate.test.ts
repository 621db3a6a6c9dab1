import assert from "node:assert/strict";
import { atOnce, type JsonObject } from "#base";
import { shape } from "../testing.ts";
import { configurationFault, configurationFaultInSlices } from "./validate.ts";

describe("validation of configurations", () => {
  const faults: readonly (readonly [unknown, string])[] = [
    [{ bogus: 1 }, ".bogus: field not declared in schema"],
    [{ number: "3" }, ".number: expected numeric (int or float), got string"],
    [{ text: 5 }, ".text: expected string, got &value.valueUnstructured{Value:5}"],
    [{ data: "x" }, ".data: expected map, got &{x}"],
    [{ data: { a: 1 } }, ".data.a: expected string, got &value.valueUnstructured{Value:1}"],
    [{ args: { a: 1 } }, ".args: expected list, got &{map[a:1]}"],
    [
      { ports: ["x"] },
      ".ports: element 0: associative list with keys may not have non-map elements",
    ],
    [
      { ports: [{ port: 1 }, { port: 1, protocol: "TCP" }] },
      '.ports: duplicate entries for key [port=1,protocol="TCP"]',
    ],
    [{ tags: ["a", "a"] }, '.tags: duplicate entries for key [="a"]'],
    [{ text: 1, number: "a" }, "errors:\n  .text: expected string, got "],
    [{ text: null, data: null, args: null, kind: "Toy", apiVersion: "v1" }, ""],
  ];
  for (const [configuration, expected] of faults) {
    it(`${expected === "" ? "accepts" : "rejects"} ${JSON.stringify(configuration)}`, () => {
      const fault = configurationFault(shape, configuration);
      assert.equal(fault.slice(0, expected.length || undefined), expected);
    });
  }

  it("finds the same faults in slices", () => {
    const long = Array.from({ length: 2_500 }, (_, index) => `t${index}`);
    const wide = Object.fromEntries(long.map((name) => [name, name]));
    const tags = [...long, "t0", "t1"];
    const large = [
      { tags, text: 1 },
      { tags: [...long, null, "t0"] },
      { tags, ...wide },
      { tags: long },
    ];
    for (const configuration of [...faults.map(([each]) => each), ...large]) {
      const fault = configurationFault(shape, configuration);
      const slices = configurationFaultInSlices(shape, configuration as JsonObject);
      assert.equal(atOnce(slices), fault);
    }
  });
});
