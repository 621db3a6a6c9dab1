/** Structs for the tests of this folder: one field of each sort. */
import {
  required,
  bool,
  bytes,
  double,
  int32,
  int64,
  boxedList,
  inline,
  lazy,
  list,
  map,
  named,
  nullablePointer,
  oneOf,
  pointer,
  value,
  scalar,
  string,
  structs,
} from "./struct/declare.ts";
import { parseJson } from "./json/json-parse.ts";
import { ScalarFault } from "./fault/scalar-fault.ts";
import type { LazyType, ScalarType, Type } from "./struct/types.ts";

const v1 = structs("api/sample/v1");

/** A moment as whole seconds in text; null is zero, and an empty message on the wire. */
export const moment: ScalarType<string | null> = scalar<string | null>({
  name: "Moment",
  package: "api/sample/v1",
  doc: "Seconds.",
  fromJson: (value) => {
    if (value === null) return null;
    if (typeof value !== "string") throw ScalarFault.mismatched(typeof value, "string");
    if (!/^\d+s$/.test(value)) throw new ScalarFault(`parsing moment "${value}"`);
    return value;
  },
  wire: v1("Moment", "Seconds.", { seconds: value(1, int64, "Seconds.") }),
  toWire: (value) => (value === null ? undefined : { seconds: Number(value.slice(0, -1)) }),
  fromWire: (message: { seconds?: number }) => `${message.seconds ?? 0}s`,
  openapi: { type: "string" },
  zero: null,
  keptWhenEmpty: true,
});

/** An amount that minds its digits. */
export const amount: ScalarType<string> = scalar<string>({
  name: "Amount",
  package: "api/sample/v1",
  doc: "Digits.",
  fromJson: (value) => String(value),
  fromNumber: (literal) => literal,
  wire: v1("Amount", "Digits.", { string: value(1, string, "Digits.") }),
  toWire: (value) => ({ string: value }),
  fromWire: (message: { string?: string }) => message.string ?? "",
  openapi: { type: "string" },
  zero: "0",
  keptWhenEmpty: true,
});

/** Any JSON value, as text on the wire. */
export const anything: ScalarType<unknown> = scalar<unknown>({
  name: "Anything",
  package: "api/sample/v1",
  doc: "Any value.",
  fromJson: (value) => value,
  wire: v1("Anything", "Any value.", { text: value(1, string, "JSON.") }),
  toWire: (value) => ({ text: JSON.stringify(value) }),
  fromWire: (message: { text?: string }) => parseJson(message.text ?? "null").value,
  openapi: {},
  zero: null,
});

export const meta = v1("Meta", "Metadata.", {
  name: value(1, string, "Name."),
  made: value(8, moment, "When made.", { omitZero: true }),
  labels: value(11, map(string), "Labels."),
  tags: value(14, list(string), "Tags."),
});

export const port = v1("Port", "A port.", {
  name: value(1, string, "Name."),
  number: required(2, int32, "Number.", { minimum: 1, maximum: 65535 }),
  protocol: value(3, oneOf("TCP", "UDP"), "Protocol.", { default: "TCP", enumerated: true }),
});

const source = v1("Source", "Where it comes from, flattened in JSON.", {
  path: pointer(1, string, "A path."),
  empty: value(2, bool, "Nothing."),
});

interface Node {
  value?: number;
  below?: Node[];
}

const nodeType: LazyType<Node> = lazy<Node>((): Type => node);
export const node = v1("Node", "Contains itself.", {
  value: value(1, int32, "A value.", { default: 7 }),
  below: value(2, list(nodeType), "Nodes below."),
});

export const spec = v1("ThingSpec", "What a thing should be.", {
  count: pointer(1, int32, "How many.", { default: 3, minimum: 0 }),
  big: value(2, int64, "A big number."),
  ratio: value(3, double, "A ratio."),
  type: value(5, named("v1.ThingType", "A", "B"), "Type.", { immutable: true }),
  on: value(4, bool, "On."),
  raw: value(6, bytes, "Bytes."),
  rawByKey: value(7, map(bytes), "Bytes by key."),
  ports: value(8, list(port), "Ports.", { patchStrategy: ["merge"], patchMergeKey: "number" }),
  names: required(9, list(string), "Names."),
  amounts: value(10, map(amount), "Amounts."),
  numbers: value(11, list(int32), "Numbers."),
  owner: nullablePointer(12, string, "Owner."),
  seen: value(13, moment, "Seen."),
  source: inline(14, source, "Source."),
  extra: value(15, map(boxedList("api/sample/v1", "Extra", string)), "Extra."),
  tree: pointer(16, node, "Tree."),
  note: value(17, string, "Note.", { maxLength: 5, pattern: /^[a-z]*$/ }),
});

export const thing = v1("Thing", "A thing.", {
  metadata: value(1, meta, "Metadata."),
  spec: value(2, spec, "Spec."),
});
