import { memoize } from "#base";
import { TooManyValues } from "../fault/faults.ts";
import { jsonFields, resolved } from "./layout.ts";
import type { Type } from "./types.ts";

/**
 * Estimated work that a list element of the type causes after decoding: defaulting, managedFields,
 * admission and validation visit every declared field, present or not.
 */
export const weightOf = memoize((type: Type): number => {
  const target = resolved(type);
  return target.tag === "struct" ? 1 + jsonFields(target).length : 3;
});

/** As `weightOf` for a map entry: keys are visited, too, and quantities are parsed several times. */
export const mapEntryWeight = memoize((value: Type): number => {
  return resolved(value).tag === "scalar" ? 20 : 4;
});

/** Number of keys and list elements of a JSON value; counting stops above `most`. */
export function countValues(value: unknown, most: number): number {
  if (typeof value !== "object" || value === null) return 1;
  let count = 1;
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length && count <= most; index++) {
      count += countValues(value[index], most - count);
    }
    return count;
  }
  const object = value as Readonly<Record<string, unknown>>;
  for (const key in object) {
    if (count > most) return count;
    const member = object[key];
    count += typeof member === "object" ? countValues(member, most - count) : 1;
  }
  return count;
}

/** The weight budget of a decode. */
export class WeightBudget {
  constructor(private left: number) {}

  /** @throws TooManyValues */
  spend(weight: number): void {
    this.left -= weight;
    if (this.left < 0) throw new TooManyValues();
  }

  /** Spends the weight of a JSON value without declared fields: two per value. */
  spendOn(value: unknown): void {
    this.spend(2 * countValues(value, this.left / 2));
  }
}
