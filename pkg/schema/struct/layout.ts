import { memoize } from "#base";
import type { Field, FieldRules, StructType, Type } from "./types.ts";

/** A field as a JSON member, with those of inline structs among their parent's. */
export interface JsonField extends Field {
  readonly name: string;
}

/** The JSON members of a struct, in the order of Go's declaration. */
export const jsonFields = memoize((struct: StructType<any>): readonly JsonField[] =>
  Object.entries<Field>(struct.fields).flatMap(([name, field]): readonly JsonField[] => {
    const type = resolved(field.type);
    if (field.inline && type.tag === "struct") return jsonFields(type);
    return [{ ...field, name }];
  }),
);

const fieldsByName = memoize(
  (struct: StructType<any>): ReadonlyMap<string, JsonField> =>
    new Map(jsonFields(struct).map((field) => [field.name, field])),
);

/** The field with the JSON name, including those of inline structs. */
export function fieldNamed(struct: StructType<any>, name: string): JsonField | undefined {
  return fieldsByName(struct).get(name);
}

interface OrderedField {
  readonly name: string;
  /** Index in the order of declaration. */
  readonly place: number;
  /** Makes the value of a field that is listed even if it is absent. */
  readonly zero: (() => unknown) | undefined;
}

/**
 * Lists the fields that an object has in the order of declaration. Most fields of most objects are
 * absent: looking up each declared one takes three times as long as a loop over the members.
 */
export class FieldOrder<F extends OrderedField> {
  readonly #byName: ReadonlyMap<string, F>;
  readonly #always: readonly F[];

  constructor(fields: readonly F[]) {
    this.#byName = new Map(fields.map((field) => [field.name, field]));
    this.#always = fields.filter(({ zero }) => zero !== undefined);
  }

  fieldsOf(object: object): readonly F[] {
    const listed: F[] = [];
    let missing = this.#always.length;
    let last = -1;
    for (const name in object) {
      const field = this.#byName.get(name);
      if (field === undefined) continue;
      if (field.zero !== undefined) missing--;
      if (field.place > last) {
        last = field.place;
        listed.push(field);
      } else insert(listed, field);
    }
    if (missing > 0) {
      for (const field of this.#always) if (!listed.includes(field)) insert(listed, field);
    }
    return listed;
  }
}

/** Inserts in the order of places; members are almost in order. */
function insert<F extends OrderedField>(listed: F[], field: F): void {
  let at = listed.length;
  listed.push(field);
  for (; at > 0 && listed[at - 1]!.place > field.place; at--) listed[at] = listed[at - 1]!;
  listed[at] = field;
}

/** Resolves a lazy reference. */
export function resolved(type: Type): Exclude<Type, { readonly tag: "lazy" }> {
  let current = type;
  while (current.tag === "lazy") current = current.resolve();
  return current;
}

/** The Go type in decode errors: `v1.LeaseSpec`, `[]string`, `map[string]string`. */
export function goTypeName(type: Type): string {
  switch (type.tag) {
    case "string":
      return type.goName ?? "string";
    case "bool":
    case "int32":
    case "int64":
      return type.tag;
    case "double":
      return "float64";
    case "bytes":
      return "[]uint8";
    case "scalar":
      return `${lastSegment(type.package)}.${type.name}`;
    case "list":
      return type.boxed
        ? `${lastSegment(type.boxed.package)}.${type.boxed.name}`
        : `[]${goTypeName(type.element)}`;
    case "map":
      return type.goName ?? `map[string]${goTypeName(type.value)}`;
    case "struct":
      return `${lastSegment(type.package)}.${type.name}`;
    case "lazy":
      return goTypeName(type.resolve());
  }
}

function lastSegment(packagePath: string): string {
  return packagePath.slice(packagePath.lastIndexOf("/") + 1);
}

/**
 * Whether JSON omits the field if it is empty or zero, instead of only if it is absent.
 */
export function dropsZero(field: Field<Type> & FieldRules): boolean {
  if (!field.presence.omitEmpty) return false;
  const { tag } = resolved(field.type);
  if (tag === "list" || tag === "map" || tag === "bytes") return true;
  return !field.presence.pointer && tag !== "struct";
}
