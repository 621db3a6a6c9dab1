import { fieldNamed, resolved } from "../struct/layout.ts";
import type { Field, StructType, Type } from "../struct/types.ts";

/** Merge rules of a field, for strategic merge patch and server-side apply. */
interface MergeRules {
  /** The type of the value, lazy references followed. */
  readonly type: Exclude<Type, { readonly tag: "lazy" }>;
  /**
   * Strategic merge patch: how a list or map is patched; absent means as the JSON types suggest.
   */
  readonly strategies: readonly ("merge" | "replace" | "retainKeys")[];
  /**
   * Strategic merge patch: the field by which elements of a merged list are matched; absent for
   * scalars.
   */
  readonly mergeKey: string | undefined;
  /** Server-side apply: lists are atomic unless declared otherwise. */
  readonly listType: "atomic" | "set" | "map";
  readonly listMapKeys: readonly string[];
  /** Server-side apply: an atomic struct or map. */
  readonly isAtomic: boolean;
}

/** The rules of a field by its JSON name; undefined if the struct has no such field. */
export function mergeRules(struct: StructType<any>, name: string): MergeRules | undefined {
  const field = fieldNamed(struct, name);
  return field && rulesOf(field);
}

function rulesOf(field: Field): MergeRules {
  const type = resolved(field.type);
  return {
    type,
    strategies: field.patchStrategy ?? [],
    mergeKey: field.patchMergeKey,
    listType: field.listType ?? "atomic",
    listMapKeys: field.listMapKeys ?? [],
    isAtomic:
      field.mapType === "atomic" ||
      (type.tag === "struct" && type.atomic === true && field.mapType !== "granular") ||
      (type.tag === "list" && (field.listType ?? "atomic") === "atomic") ||
      type.tag === "scalar",
  };
}
