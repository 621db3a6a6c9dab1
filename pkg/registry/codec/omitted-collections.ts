import { memoize } from "#base";
import { jsonFields, type JsonField, resolved, type StructType, type Type } from "#schema";

/**
 * Whether an object has an empty list or map with `omitempty`: its JSON omits the field, so decoding
 * the JSON gives a different object.
 */
export function hasOmittedCollections(struct: StructType<any>, object: any): boolean {
  return finderOf(struct)?.(object) ?? false;
}

type Finder = (value: any) => boolean;

/** Undefined for types without lists and maps. */
const finderOf: (type: Type) => Finder | undefined = memoize((type: Type): Finder | undefined => {
  switch (type.tag) {
    case "list":
      return inMembers(finderOf(type.element));
    case "map":
      return inMembers(finderOf(type.value));
    case "struct":
      return inFields(jsonFields(type));
    case "lazy":
      // Resolved on use, since the type may be recursive.
      return (value) => finderOf(type.resolve())?.(value) ?? false;
    default:
      return undefined;
  }
});

function inMembers(find: Finder | undefined): Finder | undefined {
  if (find === undefined) return undefined;
  return (members) => Object.values(members).some((member) => isPresent(member) && find(member));
}

function inFields(fields: readonly JsonField[]): Finder | undefined {
  const finders = new Map<string, Finder>();
  for (const { name, type, presence } of fields) {
    const { tag } = resolved(type);
    const isOmitted = presence.omitEmpty && (tag === "list" || tag === "map");
    const inner = finderOf(type);
    if (!isOmitted && inner === undefined) continue;
    finders.set(name, (value) => {
      if (isOmitted && Object.keys(value).length === 0) return true;
      return inner?.(value) ?? false;
    });
  }
  if (finders.size === 0) return undefined;
  return (object) => {
    for (const name in object) {
      const value = object[name];
      if (isPresent(value) && finders.get(name)?.(value)) return true;
    }
    return false;
  };
}

function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null;
}
