import { deepClone, memoize } from "#base";
import { jsonFields, type JsonField, resolved } from "../struct/layout.ts";
import type { Infer, StructType, Type } from "../struct/types.ts";

/**
 * Sets declared defaults in place: of absent pointers and maps, and of values that are absent, zero or an
 * empty list. Fields of absent optional structs stay absent.
 */
export function applyDefaults<S extends StructType<any>>(struct: S, object: Infer<S>): void {
  structDefaults(struct)?.(object);
}

type Apply = (value: any) => void;

/** Undefined if no reachable field has a default, so that the subtree is skipped. */
function defaultsBelow(type: Type): Apply | undefined {
  const target = resolved(type);
  switch (target.tag) {
    case "struct":
      return structDefaults(target);
    case "list": {
      const apply = defaultsBelow(target.element);
      return apply && ((values: readonly unknown[]) => values.forEach((value) => apply(value)));
    }
    case "map": {
      const apply = defaultsBelow(target.value);
      return (
        apply &&
        ((values: Readonly<Record<string, unknown>>) => Object.values(values).forEach(apply))
      );
    }
    default:
      return undefined;
  }
}

const structDefaults = memoize((struct: StructType<any>): Apply | undefined => {
  if (struct.open !== undefined) return struct.open.applyDefaults;
  if (!mayHaveDefaults(struct, new Set())) return undefined;
  let steps: readonly Apply[] | undefined;
  return (object: Record<string, unknown>) => {
    steps ??= jsonFields(struct).flatMap((field) => fieldDefaults(field) ?? []);
    for (const step of steps) step(object);
  };
});

/** Whether a reachable field has a default; recursive types are visited once. */
function mayHaveDefaults(type: Type, visited: Set<Type>): boolean {
  const target = resolved(type);
  if (visited.has(target)) return false;
  visited.add(target);
  if (target.tag === "list") return mayHaveDefaults(target.element, visited);
  if (target.tag === "map") return mayHaveDefaults(target.value, visited);
  if (target.tag !== "struct") return false;
  return jsonFields(target).some(
    (field) => field.default !== undefined || mayHaveDefaults(field.type, visited),
  );
}

function fieldDefaults(field: JsonField): Apply | undefined {
  const { name, default: value } = field;
  const below = defaultsBelow(field.type);
  if (value === undefined && below === undefined) return undefined;
  const replacesZero = !field.presence.pointer;
  return (object: Record<string, unknown>) => {
    const current = object[name];
    if (value !== undefined && (isAbsent(current) || (replacesZero && isZero(current)))) {
      object[name] = deepClone(value);
    }
    if (below !== undefined && !isAbsent(object[name])) below(object[name]);
  };
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null;
}

function isZero(value: unknown): boolean {
  if (Array.isArray(value)) return value.length === 0;
  return value === "" || value === 0 || value === false;
}
