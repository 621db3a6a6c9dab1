import { memoize } from "#base";
import { jsonFields, type JsonField, resolved, type StructType, type Type } from "#schema";

/**
 * Sets empty lists and maps without `omitempty` to null, in place. kube-apiserver stores built-in kinds
 * as Protobuf, which cannot represent an empty list, so its responses to writes have null; an object
 * stored as JSON must have the same value.
 */
export function nullEmptyCollections(struct: StructType<any>, object: any): void {
  nullerOf(struct)?.(object);
}

type Nuller = (value: any) => void;

/** Undefined for types without such a field, which are most. */
const nullerOf: (type: Type) => Nuller | undefined = memoize((type: Type): Nuller | undefined => {
  switch (type.tag) {
    case "list":
      return onMembers(nullerOf(type.element));
    case "map":
      return onMembers(nullerOf(type.value));
    case "struct":
      return onFields(jsonFields(type));
    case "lazy":
      // Resolved on use, since the type may be recursive.
      return (value) => nullerOf(type.resolve())?.(value);
    default:
      return undefined;
  }
});

function onMembers(work: Nuller | undefined): Nuller | undefined {
  if (work === undefined) return undefined;
  return (members) => {
    for (const member of Object.values(members)) if (member !== null) work(member);
  };
}

function onFields(fields: readonly JsonField[]): Nuller | undefined {
  const steps = new Map<string, Step>();
  for (const { name, type, presence } of fields) {
    const { tag } = resolved(type);
    const isNulled = !presence.omitEmpty && !presence.pointer && (tag === "list" || tag === "map");
    const inner = nullerOf(type);
    if (isNulled || inner !== undefined) steps.set(name, { isNulled, inner });
  }
  if (steps.size === 0) return undefined;
  return (object) => {
    for (const name in object) {
      const step = steps.get(name);
      const value = object[name];
      if (step === undefined || value === undefined || value === null) continue;
      if (step.isNulled && Object.keys(value).length === 0) object[name] = null;
      else step.inner?.(value);
    }
  };
}

interface Step {
  /** Whether an empty value becomes null. */
  readonly isNulled: boolean;
  readonly inner: Nuller | undefined;
}
