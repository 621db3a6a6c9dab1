import { memoize } from "#base";
import { jsonFields, type JsonField, resolved, type StructType, type Type } from "#schema";

/**
 * Kubernetes keeps built-in kinds as Protobuf, which has no empty list or map: one that JSON always
 * shows is null once it was stored, and so in every answer to a write. Objects here are stored as
 * JSON as well, so that the difference is taken out before. Changes the object in place.
 */
export function nullEmptyCollections(struct: StructType<any>, object: any): void {
  nullerOf(struct)?.(object);
}

type Nuller = (value: any) => void;

/** Undefined for types that hold no such field, which are most. */
const nullerOf: (type: Type) => Nuller | undefined = memoize((type: Type): Nuller | undefined => {
  switch (type.tag) {
    case "list":
      return onMembers(nullerOf(type.element));
    case "map":
      return onMembers(nullerOf(type.value));
    case "struct":
      return onFields(jsonFields(type));
    case "lazy":
      // Resolved when it is met, since the type may contain itself.
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
  const steps = fields.flatMap(({ name, type, presence }): Nuller[] => {
    const { tag } = resolved(type);
    const shown = !presence.omitEmpty && !presence.pointer && (tag === "list" || tag === "map");
    const inner = nullerOf(type);
    if (!shown && inner === undefined) return [];
    return [
      (object) => {
        const value = object[name];
        if (value === undefined || value === null) return;
        if (shown && Object.keys(value).length === 0) object[name] = null;
        else inner?.(value);
      },
    ];
  });
  if (steps.length === 0) return undefined;
  return (object) => {
    for (const step of steps) step(object);
  };
}
