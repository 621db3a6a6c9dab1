import assert from "node:assert/strict";
import { tableOf } from "./columns.ts";

describe("printer columns of a custom resource", () => {
  const now = Date.parse("2030-01-01T01:00:00Z");
  const object = {
    metadata: { name: "a", creationTimestamp: "2030-01-01T00:00:00Z" },
    spec: {
      text: "t",
      whole: 3,
      large: 2n ** 53n,
      double: 2 ** 60,
      huge: 1e20,
      real: 1.5,
      yes: true,
      none: null,
      list: [1, 2],
      map: { b: "<", a: 2n ** 53n },
    },
  };
  const cell = (type: string, jsonPath: string): unknown => {
    const version = { additionalPrinterColumns: [{ name: "C", type, jsonPath }] };
    const { row } = tableOf(version as never, { apiVersion: "example.com/v1", kind: "Car" });
    return row(object, { now } as never)[1];
  };
  for (const [type, path, expected] of [
    ["string", ".kind", "Car"],
    ["string", ".apiVersion", "example.com/v1"],
    ["string", ".spec.text", "t"],
    ["string", ".spec.whole", "3"],
    ["string", ".spec.none", "<no value>"],
    ["string", ".spec.list", "[1,2]"],
    ["string", ".spec.list[*]", "1"],
    ["string", ".spec.absent", null],
    ["integer", ".spec.whole", 3],
    ["integer", ".spec.real", 1],
    ["integer", ".spec.large", 2n ** 53n],
    ["integer", ".spec.double", 2n ** 60n],
    ["integer", ".spec.huge", -(2n ** 63n)],
    ["string", ".spec.map", `{"a":9007199254740992,"b":"\\u003c"}`],
    ["integer", ".spec.text", null],
    ["number", ".spec.real", 1.5],
    ["number", ".spec.yes", null],
    ["boolean", ".spec.yes", true],
    ["boolean", ".spec.text", null],
    ["date", ".metadata.creationTimestamp", "60m"],
    ["date", ".spec.text", "<invalid>"],
    ["date", ".spec.whole", null],
  ] as const) {
    it(`renders ${path} as ${type}`, () => assert.deepEqual(cell(type, path), expected));
  }

  it("are described by their path if by nothing else", () => {
    const additionalPrinterColumns = [{ name: "Size", type: "integer", jsonPath: ".spec.size" }];
    const typeMeta = { apiVersion: "example.com/v1", kind: "Car" };
    const { columns } = tableOf({ additionalPrinterColumns } as never, typeMeta);
    const described = "Custom resource definition column (in JSONPath format): .spec.size";
    assert.equal(columns[1]?.description, described);
  });

  it("default to Name and Age", () => {
    const { columns, row } = tableOf({} as never, { apiVersion: "example.com/v1", kind: "Car" });
    assert.deepEqual(
      columns.map(({ name }) => name),
      ["Name", "Age"],
    );
    assert.deepEqual(row(object, { now } as never), ["a", "60m"]);
  });
});
