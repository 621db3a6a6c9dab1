/**
 * Fields of built-in kinds and wrong values for them, derived from the schema: every field of every kind
 * to a limited depth, whether or not the base object has it.
 */
import { readFileSync } from "node:fs";
import path from "node:path";
import { parseYaml } from "#meta";
import { jsonFields, resolved, type StructType, type Type } from "#schema";
import { root } from "../tidy/source.ts";

export type Step = string | number;
type Plain = { [key: string]: unknown };

export interface Manifest extends Plain {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

/** A field, or an element of a list or map, of a kind. */
export interface Site {
  readonly steps: readonly Step[];
  readonly type: Exclude<Type, { readonly tag: "lazy" }>;
}

/** A value that Go's JSON decoder rejects for the type, or one that validation may reject. */
export interface WrongValue {
  readonly sort: "wrong type" | "wrong value" | "null";
  readonly value: unknown;
}

/** A valid object of every stored kind that is served by default. */
export function manifestsOfEveryKind(): readonly Manifest[] {
  return readFileSync(path.join(root, "test/e2e/every-kind.yaml"), "utf8")
    .split(/^---$/m)
    .map((text) => parseYaml(text).value as Manifest);
}

const maxDepth = 9;

/** Every field below a struct; recursive types are entered once per path. */
export function sitesOf(struct: StructType): readonly Site[] {
  const sites: Site[] = [];
  const walk = (type: Type, steps: readonly Step[], above: readonly Type[]): void => {
    const inner = resolved(type);
    if (steps.length > 0) sites.push({ steps, type: inner });
    if (steps.length >= maxDepth) return;
    if (inner.tag === "list") walk(inner.element, [...steps, 0], above);
    if (inner.tag === "map") walk(inner.value, [...steps, "k"], above);
    if (inner.tag !== "struct" || above.includes(inner)) return;
    for (const { name, type: field } of jsonFields(inner)) {
      walk(field, [...steps, name], [...above, inner]);
    }
  };
  walk(struct, [], []);
  return sites.filter(({ steps }) => steps[0] !== "status" && !steps.includes("managedFields"));
}

const longName = "x".repeat(300);
const texts = ["", longName, "Bad Name!", "-a", "a/b/c", "é", "../..", "\u0000", "1e99999"];
const numbers = [-1, -2_147_483_648, 2_147_483_647, 0];

/** Wrong values of each sort for a type. */
export function wrongValuesFor(type: Site["type"]): readonly WrongValue[] {
  const wrong = (sort: WrongValue["sort"], values: readonly unknown[]): readonly WrongValue[] =>
    values.map((value) => ({ sort, value }));
  const none = wrong("null", [null]);
  switch (type.tag) {
    case "string":
      return [...wrong("wrong type", [5, true, {}, []]), ...wrong("wrong value", texts), ...none];
    case "bool":
      return [...wrong("wrong type", ["true", 1, {}, []]), ...none];
    case "int32":
    case "int64":
    case "double": {
      const fractions = type.tag === "double" ? [] : [1.5, 1e30];
      return [
        ...wrong("wrong type", ["1", true, {}, [], ...fractions]),
        ...wrong("wrong value", numbers),
        ...none,
      ];
    }
    case "bytes":
      return [...wrong("wrong type", [5, true, {}, "!"]), ...wrong("wrong value", [""]), ...none];
    case "list":
      return [...wrong("wrong type", ["x", 5, {}]), ...wrong("wrong value", [[], [null]]), ...none];
    case "map":
    case "struct": {
      const odd = type.tag === "map" ? [{}, { "Bad Key!": null }, { "": null }] : [{}];
      return [...wrong("wrong type", ["x", 5, []]), ...wrong("wrong value", odd), ...none];
    }
    case "scalar": {
      const values = [-1, 0, "", "x", longName, "-5", "1e99", "9".repeat(40), true, {}, [], [5]];
      return [...values.map((value) => ({ sort: sortOf(type, value), value })), ...none];
    }
  }
}

/** Finds what a scalar accepts by trying its decoder. */
function sortOf(type: Extract<Type, { tag: "scalar" }>, value: unknown): WrongValue["sort"] {
  try {
    type.fromJson(value);
    return "wrong value";
  } catch {
    return "wrong type";
  }
}

/** A copy of the object with the value at the path, and with missing parents. */
export function withValue(object: object, steps: readonly Step[], value: unknown): object {
  const copy = structuredClone(object);
  let holder = copy as Record<Step, unknown>;
  for (const [depth, step] of steps.slice(0, -1).entries()) {
    const isPresent = typeof holder[step] === "object" && holder[step] !== null;
    if (!isPresent) holder[step] = typeof steps[depth + 1] === "number" ? [] : {};
    holder = holder[step] as Record<Step, unknown>;
  }
  const last = steps.at(-1);
  if (last === undefined) throw new Error("a value needs a place");
  if (value === undefined) delete holder[last];
  else holder[last] = value;
  return copy;
}
