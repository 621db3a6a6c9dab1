/**
 * Merge rules of a type in terms of JSON: whether a value may be a scalar, list or map, and which of
 * them are atomic.
 */
export interface MergeShape {
  readonly scalar?: ScalarShape;
  readonly list?: ListShape | undefined;
  readonly map?: MapShape | undefined;
}

type ScalarShape = "string" | "numeric" | "boolean" | "untyped";

export interface ListShape {
  /** One unit; a set of scalars; or elements told apart by keys. */
  readonly relation: "atomic" | "set" | "map";
  /** For `map`: names sorted, with the value that stands for an absent one (undefined: none). */
  readonly keys: readonly (readonly [name: string, absent: unknown])[];
  readonly element: MergeShape;
}

export interface MapShape {
  /** One unit. */
  readonly atomic: boolean;
  readonly fields: ReadonlyMap<string, MergeShape>;
  /** Shape of the values of undeclared keys; undefined where there are none. */
  readonly element: MergeShape | undefined;
}
