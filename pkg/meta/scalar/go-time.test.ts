import assert from "node:assert/strict";
import { ScalarFault } from "#schema";
import { formatDuration, parseDuration } from "./go-duration.ts";
import { duration, intOrString, microTime, quantity, rawExtension, time } from "./scalars.ts";

const seconds = '"2006-01-02T15:04:05Z07:00"';
const micros = '"2006-01-02T15:04:05.000000Z07:00"';

function faultOf(run: () => unknown): ScalarFault {
  try {
    run();
  } catch (error) {
    if (error instanceof ScalarFault) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
}

describe("times as Go parses them", () => {
  const read: readonly (readonly [string, string | null])[] = [
    ["2024-01-02T03:04:05Z", "2024-01-02T03:04:05Z"],
    ["2024-01-02T03:04:05.999Z", "2024-01-02T03:04:05Z"],
    ["2024-01-02T03:04:05+02:00", "2024-01-02T01:04:05Z"],
    ["2024-02-29T23:59:59-01:30", "2024-03-01T01:29:59Z"],
    ["0099-01-01T00:00:00Z", "0099-01-01T00:00:00Z"],
    ["0001-01-01T00:00:00Z", null],
  ];
  for (const [text, shown] of read) {
    it(`${text} is ${shown}`, () => assert.equal(time.fromJson(text), shown));
  }

  const refused: readonly (readonly [string, string])[] = [
    ["yesterday", `parsing time "yesterday" as ${seconds}: cannot parse "yesterday" as "2006"`],
    ["", `parsing time "" as ${seconds}: cannot parse "" as "2006"`],
    ["2024-01-02", `parsing time "2024-01-02" as ${seconds}: cannot parse "" as "T"`],
    ["2024-13-02T00:00:00Z", 'parsing time "2024-13-02T00:00:00Z": month out of range'],
    ["2023-02-29T00:00:00Z", 'parsing time "2023-02-29T00:00:00Z": day out of range'],
    ["2024-01-02T24:00:00Z", 'parsing time "2024-01-02T24:00:00Z": hour out of range'],
    ["2024-01-02T00:00:00Zx", 'parsing time "2024-01-02T00:00:00Zx": extra text: "x"'],
  ];
  for (const [text, message] of refused) {
    it(`rejects ${JSON.stringify(text)}`, () => {
      assert.equal(faultOf(() => time.fromJson(text)).message, message);
    });
  }

  it("print a MicroTime with six fractional digits", () => {
    const text = "2024-01-02T03:04:05.000006Z";
    assert.equal(microTime.fromJson(text), text);
    for (const [bad, rest, part] of [
      ["2024-01-02T03:04:05Z", "Z", ".000000"],
      ["2024-01-02T03:04:05.5+02:00", ".5+02:00", ".000000"],
      ["2024-01-02T03:04:05.123456789Z", "789Z", "Z07:00"],
    ] as const) {
      const why = `parsing time "${bad}" as ${micros}: cannot parse "${rest}" as "${part}"`;
      assert.equal(faultOf(() => microTime.fromJson(bad)).message, why);
    }
  });

  it("leave wrong JSON types to the decoder, which knows the path", () => {
    const fault = faultOf(() => time.fromJson(5));
    assert.deepEqual(fault.mismatch, { value: "number", goType: "string" });
  });

  it("have the same value in Protobuf and JSON", () => {
    for (const [scalar, values] of [
      [time, [null, "2024-01-02T03:04:05Z", "1960-01-01T00:00:00Z"]],
      [microTime, [null, "2024-01-02T03:04:05.000006Z"]],
      [quantity, ["0", "1500m", "1Gi"]],
      [intOrString, [0, 80, "http", ""]],
      [duration, ["0s", "1h30m0s", "-1.5s"]],
      [rawExtension, [null, { a: [1, "x"], b: null }]],
    ] as const) {
      for (const value of values) {
        const wire = scalar.toWire(value as never);
        assert.deepEqual(scalar.fromWire(wire as never), value, scalar.name);
      }
    }
  });
});

describe("other scalars", () => {
  it("parse a quantity from a JSON number by its digits", () => {
    assert.equal(quantity.fromJson(1.5), "1500m");
    assert.equal(quantity.fromNumber?.("1e3"), "1e3");
    assert.equal(quantity.fromJson(" 1Gi "), "1Gi");
    assert.equal(quantity.fromJson(null), "0");
    assert.match(faultOf(() => quantity.fromJson(true)).message, /^quantities must match/);
  });

  it("limit an int-or-string number to 32 bits", () => {
    assert.equal(intOrString.fromJson(-5), -5);
    assert.equal(intOrString.fromNumber?.("-0"), 0);
    const fault = faultOf(() => intOrString.fromJson(2 ** 31));
    assert.deepEqual(fault.mismatch, { value: "number 2147483648", goType: "int32" });
    assert.deepEqual(faultOf(() => intOrString.fromJson(true)).mismatch?.value, "bool");
  });
});

describe("durations", () => {
  const rows: readonly (readonly [string, string])[] = [
    ["1h30m", "1h30m0s"],
    ["90s", "1m30s"],
    ["1.5s", "1.5s"],
    ["250ms", "250ms"],
    ["1500us", "1.5ms"],
    ["-2m", "-2m0s"],
    ["0", "0s"],
    ["100ns", "100ns"],
  ];
  for (const [text, shown] of rows) {
    it(`${text} is ${shown}`, () => assert.equal(formatDuration(parseDuration(text)), shown));
  }

  const refused: readonly (readonly [string, string])[] = [
    ["", 'time: invalid duration ""'],
    ["5", 'time: missing unit in duration "5"'],
    ["5x", 'time: unknown unit "x" in duration "5x"'],
    ["soon", 'time: invalid duration "soon"'],
    ["9999999h", 'time: invalid duration "9999999h"'],
  ];
  for (const [text, message] of refused) {
    it(`rejects ${JSON.stringify(text)}`, () => {
      assert.equal(faultOf(() => parseDuration(text)).message, message);
    });
  }
});
