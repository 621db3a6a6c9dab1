import { assign, memoize, type Random } from "#base";
import { fromJson } from "./json/from-json.ts";
import { jsonFields, type JsonField } from "./struct/layout.ts";
import type { Infer, ScalarType, StructType, Type } from "./struct/types.ts";

/**
 * A random object of a struct, in normal form and within the declared rules; equal seeds give equal
 * objects. It grows smaller with depth, so that types that contain themselves end. No list, map or
 * bytes is empty: JSON tells empty from absent where Protobuf cannot.
 */
export function arbitrary<S extends StructType<any>>(struct: S, random: Random): Infer<S> {
  return fromJson(struct, arbitraryStruct(struct, random, 0));
}

const maxDepth = 6;

function arbitraryStruct(struct: StructType<any>, random: Random, depth: number): object {
  const object: Record<string, unknown> = {};
  for (const field of jsonFields(struct)) {
    // JSON alone has it, so that Protobuf would lose it.
    if (field.number === 0) continue;
    const isLeftOut = random.next() < (depth === 0 ? 0.1 : depth > maxDepth ? 0.95 : 0.3);
    if (!isLeftOut || field.required) object[field.name] = arbitraryField(field, random, depth);
  }
  return object;
}

function arbitraryField(field: JsonField, random: Random, depth: number): unknown {
  const { minimum, maximum, type } = field;
  if (type.tag === "int32" || type.tag === "int64") {
    if (minimum === undefined && maximum === undefined) return arbitraryValue(type, random, depth);
    const low = minimum ?? 0;
    return low + random.below((maximum ?? low + 1000) - low + 1);
  }
  if (type.tag === "string" && (field.minLength !== undefined || field.maxLength !== undefined)) {
    const low = field.minLength ?? 0;
    const high = Math.min(field.maxLength ?? low + 20, low + 20);
    return "x".repeat(low + random.below(high - low + 1));
  }
  return arbitraryValue(type, random, depth);
}

function arbitraryValue(type: Type, random: Random, depth: number): unknown {
  switch (type.tag) {
    case "string":
      return type.values && type.values.length > 0
        ? random.pick(type.values)
        : random.pick(sampleTexts);
    case "bool":
      return random.next() < 0.5;
    case "int32":
      return random.pick([0, 1, -1, 80, 2_147_483_647, -2_147_483_648, random.below(100_000)]);
    case "int64":
      return random.pick<number | bigint>([0, 1, -1, 2 ** 53 - 1, 2n ** 63n - 1n, -(2n ** 63n)]);
    case "double":
      return random.pick([0, 0.5, -1.25, 1e21, 1e-7, random.next()]);
    case "bytes":
      return Buffer.from(random.bytes(1 + random.below(20))).toString("base64");
    case "scalar":
      return random.pick(samplesOf(type));
    case "list":
      return Array.from({ length: 1 + random.below(3) }, () =>
        arbitraryValue(type.element, random, depth + 1),
      );
    case "map":
      return arbitraryMap(type.value, random, depth);
    case "struct":
      return arbitraryStruct(type, random, depth + 1);
    case "lazy":
      return arbitraryValue(type.resolve(), random, depth + 1);
  }
}

function arbitraryMap(type: Type, random: Random, depth: number): object {
  const map: Record<string, unknown> = {};
  for (let count = 1 + random.below(3); count > 0; count--) {
    assign(map, random.pick(sampleKeys), arbitraryValue(type, random, depth + 1));
  }
  return map;
}

const sampleTexts = [
  "",
  "a",
  "some-name",
  "two words",
  'tab\tand "quotes"',
  "<html> & more",
  "é 漢 🚀",
];

/** Names that trip a careless map, and two whose order differs between UTF-8 and UTF-16. */
const sampleKeys = [
  "a",
  "b",
  "7",
  "example.com/name",
  "__proto__",
  "constructor",
  "\u{1f680}",
  "\uffee",
];

const sampleValues: readonly unknown[] = [
  "2024-02-29T23:59:58Z",
  "2024-02-29T23:59:58.000007Z",
  "250m",
  "1Gi",
  "1h30m0s",
  "80%",
  8080,
  { "f:metadata": { "f:labels": { ".": {} } } },
  { kind: "Any", number: 1, list: [true, null] },
];

/** A scalar says what it takes only through its decoder, so it is asked. */
const samplesOf = memoize((type: ScalarType<any>): readonly unknown[] =>
  sampleValues.filter((candidate) => {
    try {
      type.fromJson(candidate);
      return true;
    } catch {
      return false;
    }
  }),
);
