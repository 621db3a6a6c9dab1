import { memoize } from "#base";
import { jsonFields, resolved } from "../struct/layout.ts";
import { fieldEquality } from "../struct/semantic-equality.ts";
import type { Path, Problems } from "./problems.ts";
import type { Infer, StructType } from "../struct/types.ts";

/** `field is immutable` for each declared field that differs from the old object. */
export function checkImmutable<S extends StructType<any>>(
  struct: S,
  object: Infer<S>,
  old: Infer<S>,
  ...[path, problems]: [path: Path, problems: Problems]
): void {
  structCheck(struct)?.({ object, old, path, problems });
}

interface Comparison {
  readonly object: unknown;
  readonly old: unknown;
  readonly path: Path;
  readonly problems: Problems;
}

type Compare = (comparison: Comparison) => void;

type Shape = Readonly<Record<string, unknown>>;

const structCheck = memoize((struct: StructType<any>): Compare | undefined =>
  hasImmutable(struct, new Set()) ? compareStruct(struct) : undefined,
);

/** Visits structs only, as elements of lists and maps cannot be correlated. */
function hasImmutable(struct: StructType<any>, visited: Set<StructType<any>>): boolean {
  if (visited.has(struct)) return false;
  visited.add(struct);
  return jsonFields(struct).some((field) => {
    const type = resolved(field.type);
    return field.immutable || (type.tag === "struct" && hasImmutable(type, visited));
  });
}

function compareStruct(struct: StructType<any>): Compare {
  return ({ object, old, path, problems }) => {
    for (const field of jsonFields(struct)) {
      const value = (object as Shape)[field.name];
      const before = (old as Shape)[field.name];
      const at = path.child(field.name);
      if (field.immutable) {
        if (!fieldEquality(field)(value, before)) {
          problems.invalid(at, value, "field is immutable");
        }
        continue;
      }
      const type = resolved(field.type);
      if (type.tag !== "struct" || isAbsent(value) || isAbsent(before)) continue;
      structCheck(type)?.({ object: value, old: before, path: at, problems });
    }
  };
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null;
}
