import { compareUtf8 } from "#base";
import type { Infer, Path, Problems } from "#schema";
import { checkLabels, isLabelValue, isQualifiedName, type labelSelector } from "#meta";
import { invalidEach } from "./strategy.ts";

export type LabelSelector = Infer<typeof labelSelector>;

/** Validates keys, operators and values of a selector unless it is absent. */
export function checkLabelSelector(
  selector: LabelSelector | undefined,
  path: Path,
  problems: Problems,
): void {
  if (selector === undefined) return;
  checkLabels(selector.matchLabels ?? {}, path.child("matchLabels"), problems);
  for (const [index, requirement] of (selector.matchExpressions ?? []).entries()) {
    const itemPath = path.child("matchExpressions").index(index);
    const { key, operator, values = [] } = requirement;
    const valuesPath = itemPath.child("values");
    if (operator === "In" || operator === "NotIn") {
      if (values.length === 0) {
        problems.required(valuesPath, "must be specified when `operator` is 'In' or 'NotIn'");
      }
    } else if (operator === "Exists" || operator === "DoesNotExist") {
      if (values.length > 0) {
        const detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
        problems.forbidden(valuesPath, detail);
      }
    } else problems.invalid(itemPath.child("operator"), operator, "not a valid selector operator");
    invalidEach(problems, itemPath.child("key"), { value: key, messages: isQualifiedName(key) });
    for (const [i, value] of values.entries()) {
      invalidEach(problems, valuesPath.index(i), { value, messages: isLabelValue(value) });
    }
  }
}

/** Selector as text, `app=db,tier notin (x,y)` for example; `<none>` if it is empty. */
export function formatLabelSelector(selector: LabelSelector): string {
  const labels = Object.entries(selector.matchLabels ?? {}).map(([key, value]) => {
    return { key, text: `${key}=${value}` };
  });
  const expressions = (selector.matchExpressions ?? []).map(({ key, operator, values = [] }) => {
    const set = [...values].sort().join(",");
    switch (operator) {
      case "In":
        return { key, text: `${key} in (${set})` };
      case "NotIn":
        return { key, text: `${key} notin (${set})` };
      case "Exists":
        return { key, text: key };
      default:
        return { key, text: `!${key}` };
    }
  });
  const parts = [...labels, ...expressions].sort((a, b) => compareUtf8(a.key, b.key));
  return parts.length === 0 ? "<none>" : parts.map(({ text }) => text).join(",");
}

/** Labels as text, `app=db,tier=front` for example; `<none>` if there are none. */
export function formatLabels(labels: Readonly<Record<string, string>> | undefined): string {
  const all = Object.entries(labels ?? {}).sort(([a], [b]) => compareUtf8(a, b));
  return all.map(([key, value]) => `${key}=${value}`).join(",") || "<none>";
}
