/** Hooks and validation helpers that many kinds share. */
import {
  fieldEquality,
  fieldNamed,
  type Path,
  type Problems,
  semanticEquality,
  type StructType,
  type Type,
} from "#schema";
import { assert, deepEqual, identity, sortedKeys as keysInOrder } from "#base";
import type { HookContext, KindHooks, KindVersion } from "#meta";

export const fieldImmutableMessage = "field is immutable";

/** Conversion of a version whose fields equal those of the hub. */
export const same: KindVersion["convert"] = { up: (object) => object, down: (hub) => hub };

interface HasSpecAndStatus {
  spec?: unknown;
  status?: unknown;
}

/**
 * Hooks of kinds with a status subresource: the main resource cannot change `status`, the status
 * subresource cannot change `spec`. `initial` returns the status of created objects.
 */
export function splitByStatusSubresource(
  initial: () => unknown,
): Required<Pick<KindHooks, "prepareCreate" | "prepareUpdate">> {
  return {
    prepareCreate: (object: HasSpecAndStatus) => {
      object.status = initial();
    },
    prepareUpdate: (object: HasSpecAndStatus, old: HasSpecAndStatus, context: HookContext) => {
      if (context.subresource === "status") object.spec = old.spec;
      else object.status = old.status;
    },
  };
}

/**
 * Reports `field is immutable` unless both values are equal. `shown` overrides the reported value.
 */
export function mustNotChange(problems: Problems, path: Path, values: FixedValue): void {
  const { type } = values;
  const isEqual = type === undefined ? deepEqual : semanticEquality(type);
  if (isEqual(values.now, values.before)) return;
  const shown = "shown" in values ? values.shown : values.now;
  problems.invalid(path, shown ?? null, fieldImmutableMessage);
}

interface FixedValue {
  readonly now: unknown;
  readonly before: unknown;
  readonly shown?: unknown;
  /** The type of values that can contain an empty list or map, which equals an absent one. */
  readonly type?: Type;
}

/** Whether two objects of a struct have an equal field: an empty list or map equals an absent one. */
export function isSameField(
  struct: StructType<any>,
  name: string,
  [now, before]: readonly [now: object | undefined, before: object | undefined],
): boolean {
  const field = fieldNamed(struct, name);
  assert(field !== undefined, "the struct has the field");
  const [value, old] = [now, before].map(
    (each) => (each as Readonly<Record<string, unknown>>)?.[name],
  );
  return fieldEquality(field)(value, old);
}

/** Like `problems.notSupported`, but lists the values in Kubernetes' order of declaration. */
export function unsupported(
  problems: Problems,
  path: Path,
  { value, supported, isQuoted = false }: UnsupportedValue,
): void {
  const list = supported.map((each) => JSON.stringify(each)).join(", ");
  const detail = `supported values: ${list}`;
  const field = path.toString();
  problems.add({ type: "FieldValueNotSupported", field, value, isQuoted, detail });
}

interface UnsupportedValue {
  readonly value: unknown;
  readonly supported: readonly string[];
  /** See `FieldProblem`. */
  readonly isQuoted?: boolean;
}

/** Reports an `Invalid value` for each message. */
export function invalidEach(
  problems: Problems,
  path: Path,
  { value, messages }: { readonly value: unknown; readonly messages: readonly string[] },
): void {
  for (const message of messages) problems.invalid(path, value, message);
}

/** Sorted keys, for a stable order of problems; Kubernetes' order is random. */
export function sortedKeys(map: Readonly<Record<string, unknown>> | null | undefined): string[] {
  return keysInOrder(map ?? {});
}

/** Own property or undefined; safe for keys such as `constructor`. */
export function entry<T>(
  map: Readonly<Record<string, T>> | null | undefined,
  key: string,
): T | undefined {
  return map !== null && map !== undefined && Object.hasOwn(map, key) ? map[key] : undefined;
}

/** Predicate for membership by deep equality, with a constant-time lookup. */
export function memberOf(all: readonly unknown[] | null = []): (value: unknown) => boolean {
  let known: ReadonlySet<unknown> | undefined;
  return (value) => {
    known ??= new Set((all ?? []).map(identity));
    return known.has(identity(value));
  };
}

/** Elements by name; the first one of a name wins. */
export function firstByName<V extends { readonly name: string }>(
  all: readonly V[] | null = [],
): ReadonlyMap<string, V> {
  return new Map((all ?? []).toReversed().map((each) => [each.name, each]));
}

/** Indexes of elements whose key equals that of an earlier element. Linear in the length. */
export function duplicateIndexes<V>(
  all: readonly V[],
  keyOf: (each: V) => string | number | undefined,
): ReadonlySet<number> {
  const seen = new Set<string | number | undefined>();
  const places = new Set<number>();
  for (const [index, each] of all.entries()) {
    const key = keyOf(each);
    if (seen.has(key)) places.add(index);
    else seen.add(key);
  }
  return places;
}
