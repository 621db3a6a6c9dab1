import { memoize } from "#base";
import { jsonFields, type JsonField, resolved } from "../struct/layout.ts";
import type { Path, Problems } from "./problems.ts";
import type { Infer, StructType, Type } from "../struct/types.ts";

/**
 * Validates the declared rules of fields: required, enums, ranges, lengths, patterns. Problems are in
 * the order of the declarations, depth first.
 */
export function checkFields<S extends StructType<any>>(
  struct: S,
  object: Infer<S>,
  path: Path,
  problems: Problems,
): void {
  structCheck(struct)?.(object, path, problems);
}

type Check = (value: any, path: Path, problems: Problems) => void;

function checkBelow(type: Type): Check | undefined {
  const target = resolved(type);
  switch (target.tag) {
    case "struct":
      return structCheck(target);
    case "list": {
      const check = checkBelow(target.element);
      return (
        check &&
        ((values: readonly unknown[], path, problems) =>
          values.forEach((value, index) => check(value, path.index(index), problems)))
      );
    }
    case "map": {
      const check = checkBelow(target.value);
      return (
        check &&
        ((values: Readonly<Record<string, unknown>>, path, problems) => {
          for (const key of Object.keys(values).sort()) check(values[key], path.key(key), problems);
        })
      );
    }
    default:
      return undefined;
  }
}

const structCheck = memoize((struct: StructType<any>): Check | undefined => {
  if (!mayCheck(struct, new Set())) return undefined;
  let checks: readonly Check[] | undefined;
  return (object, path, problems) => {
    checks ??= jsonFields(struct).flatMap((field) => fieldCheck(field) ?? []);
    for (const check of checks) check(object, path, problems);
  };
});

function hasRules(field: JsonField): boolean {
  return (
    field.required === true ||
    field.enumerated === true ||
    field.minimum !== undefined ||
    field.maximum !== undefined ||
    field.minLength !== undefined ||
    field.maxLength !== undefined ||
    field.pattern !== undefined
  );
}

/** Whether a reachable type has rules; recursive types are visited once. */
function mayCheck(type: Type, visited: Set<Type>): boolean {
  const target = resolved(type);
  if (visited.has(target)) return false;
  visited.add(target);
  if (target.tag === "list") return mayCheck(target.element, visited);
  if (target.tag === "map") return mayCheck(target.value, visited);
  if (target.tag !== "struct") return false;
  return jsonFields(target).some((field) => hasRules(field) || mayCheck(field.type, visited));
}

function fieldCheck(field: JsonField): Check | undefined {
  const { name } = field;
  const below = checkBelow(field.type);
  if (!hasRules(field) && below === undefined) return undefined;
  const isMap = resolved(field.type).tag === "map";
  return (object: Readonly<Record<string, unknown>>, path, problems) => {
    const value = object[name];
    const at = path.child(name);
    if (isEmpty(value) || (isMap && Object.keys(value as object).length === 0)) {
      if (field.required) problems.required(at);
      else if (value === 0 || value === "") checkValue(field, value, { at, problems });
      return;
    }
    checkValue(field, value, { at, problems });
    below?.(value, at, problems);
  };
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === "" || value === 0) return true;
  return Array.isArray(value) && value.length === 0;
}

interface Target {
  readonly at: Path;
  readonly problems: Problems;
}

function checkValue(field: JsonField, value: unknown, { at, problems }: Target): void {
  const type = resolved(field.type);
  if (field.enumerated && type.tag === "string" && value !== "") {
    const values = type.values ?? [];
    if (!values.includes(value as string)) problems.notSupported(at, value, values);
  }
  if (typeof value === "number" || typeof value === "bigint") {
    const detail = rangeDetail(field, value);
    if (detail !== undefined) problems.invalid(at, value, detail);
  }
  if (typeof value === "string") checkText(field, value, { at, problems });
  if (Array.isArray(value) && field.maxLength !== undefined && value.length > field.maxLength) {
    problems.tooMany(at, value.length, field.maxLength);
  }
}

function checkText(field: JsonField, text: string, { at, problems }: Target): void {
  const { minLength, maxLength, pattern } = field;
  if (maxLength !== undefined && Buffer.byteLength(text) > maxLength) {
    problems.tooLong(at, text, maxLength);
  }
  if (text === "" && field.presence.omitEmpty && !field.presence.pointer) return;
  if (minLength !== undefined && Buffer.byteLength(text) < minLength) {
    problems.invalid(at, text, `must be at least ${minLength} characters`);
  }
  if (pattern !== undefined && !pattern.test(text)) {
    problems.invalid(at, text, `must match the regex ${pattern.source}`);
  }
}

/** Kubernetes' message of a range, which depends on the bounds that it has. */
function rangeDetail(field: JsonField, value: number | bigint): string | undefined {
  const { minimum, maximum } = field;
  const isBelow = minimum !== undefined && value < minimum;
  const isAbove = maximum !== undefined && value > maximum;
  if (!isBelow && !isAbove) return undefined;
  if (minimum !== undefined && maximum !== undefined) {
    return `must be between ${minimum} and ${maximum}, inclusive`;
  }
  return isBelow
    ? `must be greater than or equal to ${minimum}`
    : `must be less than or equal to ${maximum}`;
}
