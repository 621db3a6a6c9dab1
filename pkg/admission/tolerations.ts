import { deepEqual } from "#base";
import { type Domain, resolve } from "#meta";
import type { Admit } from "#registry";
import { isFor } from "./objects.ts";

export interface Toleration {
  readonly key?: string;
  readonly operator?: string;
  readonly value?: string;
  readonly effect?: string;
  readonly tolerationSeconds?: number | bigint;
}

const defaultSeconds = 300;

/** Pods stay for a while on a node that fails or cannot be reached, unless they say otherwise. */
export function defaultTolerations(domain: Domain): Admit {
  const keys = ["not-ready", "unreachable"].map((key) => resolve(`node.{label}/${key}`, domain));
  return async (attributes) => {
    if (!isFor(attributes, "", "pods") || attributes.operation === "delete") return [];
    const { spec } = attributes.object;
    const given: readonly Toleration[] = spec.tolerations ?? [];
    const missing = keys.filter((key) => !given.some((each) => coversFailure(each, key)));
    if (missing.length === 0) return [];
    const added = missing.map((key) => ({
      key,
      operator: "Exists",
      effect: "NoExecute",
      tolerationSeconds: defaultSeconds,
    }));
    spec.tolerations = [...given, ...added];
    return [];
  };
}

function coversFailure({ key, effect }: Toleration, wanted: string): boolean {
  return (!key || key === wanted) && (!effect || effect === "NoExecute");
}

/** Both lists without what another entry covers anyway. */
export function mergeTolerations(
  first: readonly Toleration[],
  second: readonly Toleration[],
): readonly Toleration[] {
  const all = [...first, ...second];
  const merged: Toleration[] = [];
  for (const [index, each] of all.entries()) {
    const isCovered =
      merged.some((other) => covers(other, each)) ||
      all.slice(index + 1).some((other) => !deepEqual(other, each) && covers(other, each));
    if (!isCovered) merged.push(each);
  }
  return merged;
}

/** Whatever `narrow` tolerates, `wide` tolerates, too. */
export function covers(wide: Toleration, narrow: Toleration): boolean {
  if (deepEqual(wide, narrow)) return true;
  const everyKey = !wide.key && wide.operator === "Exists";
  if ((narrow.key ?? "") !== (wide.key ?? "") && !everyKey) return false;
  if (wide.effect && narrow.effect !== wide.effect) return false;
  if (wide.effect === "NoExecute" && wide.tolerationSeconds !== undefined) {
    const { tolerationSeconds: seconds } = narrow;
    if (seconds === undefined || seconds > wide.tolerationSeconds) return false;
  }
  if (wide.operator === "Exists") return true;
  const isEqual = !narrow.operator || narrow.operator === "Equal";
  return isEqual && (narrow.value ?? "") === (wide.value ?? "");
}
