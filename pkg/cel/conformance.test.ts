import assert from "node:assert/strict";
import { tests as suite } from "@bufbuild/cel-spec/testdata/conformance.js";
import { tests as parsing } from "@bufbuild/cel-spec/testdata/parsing.js";
import { Environment } from "./environment.ts";
import { compile } from "./program.ts";
import { type CelType, dyn, mapOf, listOf } from "./check/types.ts";
import * as types from "./check/types.ts";
import { Double, HashMap, equal, ArrayList, TypeValue, Uint, type Value } from "./value/values.ts";

/** Files whose subject Kubernetes does not have: messages of Protobuf, math, encoders, blocks. */
const foreign = new Set([
  "bindings_ext",
  "block_ext",
  "dynamic",
  "encoders_ext",
  "enums",
  "math_ext",
  "proto2",
  "proto2_ext",
  "proto3",
  "wrappers",
]);
/** Cases of later versions of a library than Kubernetes has. */
const decidedOtherwise: ReadonlySet<string> = new Set([
  "scientific notation formatting clause",
  "default precision for scientific notation",
  "NaN support for scientific notation",
  "positive infinity support for scientific notation",
  "negative infinity support for scientific notation",
  "NaN support for decimal",
  "positive infinity support for decimal",
  "negative infinity support for decimal",
  "positive infinity support for fixed-point",
  "negative infinity support for fixed-point",
  "list support for string",
  "map support for string",
  "map support (all key types)",
  "dyntype support for scientific notation",
  "dyntype NaN/infinity support",
  "dyntype support for lists",
  "dyntype support for maps",
  "scientific notation formatting clause in a string variable",
  "indexof_out_of_range",
  "lastindexof_out_of_range",
  "get_milliseconds",
]);

/** Names in backquotes are of a later version of the language, too. */
function isDecidedOtherwise({ name = "", expr }: Original): boolean {
  return decidedOtherwise.has(name) || expr.includes("`");
}
/**
 * The least that must pass; it only ever grows. What fails is meant to run although its types are
 * wrong, which Kubernetes refuses to compile.
 */
const minPassing = 1_356;

interface Case {
  readonly file: string;
  readonly original: Original;
}

interface Original {
  readonly name?: string;
  readonly expr: string;
  readonly container?: string;
  readonly checkOnly?: boolean;
  readonly disableCheck?: boolean;
  readonly value?: Json;
  readonly evalError?: unknown;
  readonly typeEnv?: readonly { name: string; ident?: { type?: Json }; function?: unknown }[];
  readonly bindings?: Readonly<Record<string, { value?: Json }>>;
  readonly typedResult?: { readonly result?: Json; readonly deducedType?: Json };
}

// The data is Protobuf's JSON.
type Json = Readonly<Record<string, unknown>>;

interface Node {
  readonly name: string;
  readonly suites?: readonly Node[];
  readonly tests?: readonly Test[];
}

interface Test {
  readonly original: object;
  /** Message of the reference if it rejects the text. */
  readonly error?: string;
}

function testsOf(node: Node): Test[] {
  return [...(node.tests ?? []), ...(node.suites ?? []).flatMap(testsOf)];
}

function cases(): Case[] {
  return ((suite as Node).suites ?? []).flatMap((file) =>
    testsOf(file).map(({ original }) => ({ file: file.name, original: original as Original })),
  );
}

/**
 * Whether the case needs what Kubernetes' environments never have: messages of Protobuf,
 * containers of names.
 */
function isForeign({ file, original }: Case): boolean {
  if (foreign.has(file) || original.container !== undefined) return true;
  const text = JSON.stringify(original);
  const messages = /TestAllTypes|TestRequired|NestedMessage|GlobalEnum|"function":/;
  return messages.test(text) || /google\.protobuf\.(?!Timestamp|Duration)/.test(text);
}

function typeFrom(json: Json | undefined): CelType {
  if (json === undefined) return dyn;
  const primitive = String(json["primitive"] ?? "").toLowerCase();
  const names: Record<string, CelType> = {
    bool: types.bool,
    int64: types.int,
    uint64: types.uint,
    double: types.double,
    string: types.string,
    bytes: types.bytes,
  };
  if (primitive !== "") return names[primitive] ?? dyn;
  if (json["wellKnown"] === "TIMESTAMP") return types.timestamp;
  if (json["wellKnown"] === "DURATION") return types.duration;
  if ("null" in json) return types.nullType;
  const list = json["listType"] as Json | undefined;
  if (list !== undefined) return listOf(typeFrom(list["elemType"] as Json));
  const map = json["mapType"] as Json | undefined;
  if (map !== undefined) {
    return mapOf(typeFrom(map["keyType"] as Json), typeFrom(map["valueType"] as Json));
  }
  const inner = json["type"] as Json | undefined;
  if (inner !== undefined) return types.typeOf(typeFrom(inner));
  const abstract = json["abstractType"] as Json | undefined;
  if (abstract !== undefined) {
    const parameters = (abstract["parameterTypes"] as Json[] | undefined) ?? [];
    return types.opaque(String(abstract["name"]), ...parameters.map(typeFrom));
  }
  return dyn;
}

function valueFrom(json: Json): Value {
  const [[kind = "", value] = []] = Object.entries(json);
  switch (kind) {
    case "nullValue":
      return null;
    case "boolValue":
      return value as boolean;
    case "int64Value": {
      const number = BigInt(value as string);
      return Number.isSafeInteger(Number(number)) ? Number(number) : number;
    }
    case "uint64Value":
      return new Uint(BigInt(value as string));
    case "doubleValue":
      return new Double(Number(value));
    case "stringValue":
      return value as string;
    case "bytesValue":
      return Buffer.from(value as string, "base64");
    case "typeValue":
      return new TypeValue(value as string);
    case "listValue":
      return new ArrayList(((value as Json)["values"] as Json[] | undefined)?.map(valueFrom) ?? []);
    case "mapValue": {
      const entries =
        ((value as Json)["entries"] as { key: Json; value: Json }[] | undefined) ?? [];
      return HashMap.of(entries.map((entry) => [valueFrom(entry.key), valueFrom(entry.value)]));
    }
    case "objectValue":
      return wellKnown(value as Json);
    default:
      throw new Error(`no value: ${JSON.stringify(json)}`);
  }
}

function wellKnown(message: Json): Value {
  const name = String(message["@type"]).split("/").at(-1) ?? "";
  const made = run(
    `${name === "google.protobuf.Timestamp" ? "timestamp" : "duration"}("${message["value"]}")`,
    {},
    {},
  );
  assert(made.value !== undefined, JSON.stringify(message));
  return made.value;
}

const base = Environment.kubernetes({ variables: {}, validates: false });

function run(text: string, variables: Record<string, CelType>, bindings: Record<string, unknown>) {
  const environment = base.extend({ variables, validates: false });
  const compiled = compile(text, environment);
  if (compiled.program === undefined)
    return { error: compiled.error, type: undefined, value: undefined };
  return { ...compiled.program.evaluate(bindings), type: compiled.program.type };
}

/** Nothing if the case passes, else what is wrong. */
function fault({ original }: Case): string | undefined {
  const variables: Record<string, CelType> = {};
  for (const { name, ident } of original.typeEnv ?? []) variables[name] = typeFrom(ident?.type);
  const bindings: Record<string, unknown> = {};
  for (const [name, { value }] of Object.entries(original.bindings ?? {})) {
    bindings[name] = valueFrom(value ?? {});
  }
  const outcome = run(original.expr, variables, bindings);
  if (original.evalError !== undefined) {
    return outcome.error === undefined ? "no error" : undefined;
  }
  const typed = original.typedResult;
  const onlyTyped = original.checkOnly === true || (typed !== undefined && !("result" in typed));
  if (outcome.error !== undefined && !onlyTyped) return outcome.error;
  const deduced = typed?.deducedType;
  if (deduced !== undefined && outcome.type !== undefined) {
    const wanted = types.formatType(typeFrom(deduced));
    const found = types.formatType(outcome.type);
    if (wanted !== found) return `type ${found}, not ${wanted}`;
  }
  if (onlyTyped) return undefined;
  const expected = original.value ?? typed?.result ?? { boolValue: true };
  const value = outcome.value ?? null;
  const wanted = valueFrom(expected);
  const bothNaN =
    wanted instanceof Double && value instanceof Double && Number.isNaN(wanted.value + value.value);
  if (bothNaN || (equal(value, wanted) && typeof value === typeof wanted)) return undefined;
  return `found ${String(value)}, wanted ${JSON.stringify(expected)}`;
}

describe("cel: the public conformance cases", () => {
  it("passes the cases of the features that Kubernetes enables", () => {
    const all = cases();
    const ours = all.filter((one) => !isForeign(one));
    const failures: string[] = [];
    for (const one of ours) {
      let wrong: string | undefined;
      try {
        wrong = fault(one);
      } catch (error) {
        wrong = `threw ${String(error)}`;
      }
      if (wrong !== undefined) {
        const isMeant = one.original.disableCheck || isDecidedOtherwise(one.original);
        assert(isMeant, `${one.file} ${one.original.expr}: ${wrong}`);
        failures.push(`${one.file} ${one.original.name}: ${one.original.expr}: ${wrong}`);
      }
    }
    const passed = ours.length - failures.length;
    assert(passed >= minPassing, `${passed} of ${ours.length} pass:\n${failures.join("\n")}`);
  });

  it("rejects invalid expressions with cel-go's messages", () => {
    let compared = 0;
    for (const { original, error } of testsOf(parsing as Node)) {
      // The others depend on options of the parser.
      if (error?.startsWith("ERROR: <input>") !== true) continue;
      const { expr } = original as Original;
      assert.equal(compile(expr, base).error, error, expr);
      compared++;
    }
    assert(compared >= 60, `${compared} texts`);
  });
});
