/** JSONPath of printer columns: client-go's dialect without the braces. */
import { compareUtf8, isJsonObject } from "#base";
import { type Comparison, PathFault, type PathStep, readPath } from "./json-path-reader.ts";

/** A path like `.spec.containers[0].image` or `.status.conditions[?(@.type=="Ready")].status`. */
export class JsonPath {
  private constructor(private readonly steps: readonly PathStep[]) {}

  /** Parses a path; undefined = malformed. */
  static parse(text: string): JsonPath | undefined {
    try {
      return new JsonPath(readPath(text));
    } catch (error) {
      if (error instanceof PathFault) return undefined;
      throw error;
    }
  }

  /** The matching values in order; object members are sorted by name. */
  find(value: unknown): readonly unknown[] {
    return follow([value], this.steps);
  }
}

/** Maximum number of values that a step finds, since repeated `..` multiply them. */
const maxValues = 10_000;

/** Applies steps to values, each to the values that the one before has found. */
function follow(values: readonly unknown[], steps: readonly PathStep[]): readonly unknown[] {
  let found = values;
  for (const step of steps) {
    const next: unknown[] = [];
    for (const value of found) {
      if (next.length < maxValues) collect(value, step, next);
    }
    found = next;
  }
  return found;
}

function collect(value: unknown, step: PathStep, found: unknown[]): void {
  switch (step.tag) {
    case "field":
      if (isJsonObject(value) && Object.hasOwn(value, step.name)) found.push(value[step.name]);
      break;
    case "all":
      found.push(...childrenOf(value).slice(0, maxValues));
      break;
    case "descend":
      descend(value, found);
      break;
    case "slice":
      if (Array.isArray(value)) found.push(...sliceOf(value, step).slice(0, maxValues));
      break;
    case "filter":
      if (Array.isArray(value)) {
        found.push(...value.filter((item) => holds(item, step.test)).slice(0, maxValues));
      }
      break;
    case "union":
      for (const part of step.parts) collect(value, part, found);
      break;
    case "path":
      found.push(...follow([value], step.steps));
  }
}

function childrenOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  if (!isJsonObject(value)) return [];
  return Object.keys(value)
    .sort(compareUtf8)
    .map((name) => value[name]);
}

/** The value and all its descendants, in preorder. */
function descend(root: unknown, found: unknown[]): void {
  const stack: unknown[] = [root];
  while (stack.length > 0 && found.length < maxValues) {
    const value = stack.pop();
    found.push(value);
    const children = childrenOf(value);
    for (let index = children.length - 1; index >= 0; index--) stack.push(children[index]);
  }
}

type Slice = Extract<PathStep, { readonly tag: "slice" }>;

function sliceOf(list: readonly unknown[], { start, end, step }: Slice): readonly unknown[] {
  const last = list.length;
  const fromEnd = (index: number) => (index < 0 ? index + last : index);
  const first = fromEnd(start);
  const limit = Math.min(end === undefined ? last : fromEnd(end), last);
  const found: unknown[] = [];
  for (let index = first; index >= 0 && index < limit; index += step) found.push(list[index]);
  return found;
}

function holds(item: unknown, { left, operator, right }: Comparison): boolean {
  const [a] = "path" in left ? follow([item], left.path) : [left.value];
  if (operator === "exists") return a !== undefined;
  const [b] = "path" in right ? follow([item], right.path) : [right.value];
  if (a === undefined || b === undefined) return false;
  switch (operator) {
    case "==":
      return isSame(a, b);
    case "!=":
      return !isSame(a, b);
    default:
      return isOrdered(a, b, operator);
  }
}

type Scalar = number | bigint | string;

function isScalar(value: unknown): value is Scalar {
  return typeof value === "number" || typeof value === "bigint" || typeof value === "string";
}

function isSame(a: unknown, b: unknown): boolean {
  return exact(a) === exact(b);
}

/** An int64 is a number or a bigint, by its size. */
function exact(value: unknown): unknown {
  return Number.isInteger(value) ? BigInt(value as number) : value;
}

function isOrdered(a: unknown, b: unknown, operator: "<" | "<=" | ">" | ">="): boolean {
  if (!isScalar(a) || !isScalar(b) || (typeof a === "string") !== (typeof b === "string")) {
    return false;
  }
  if (operator === "<") return a < b;
  if (operator === "<=") return a <= b;
  return operator === ">" ? a > b : a >= b;
}
