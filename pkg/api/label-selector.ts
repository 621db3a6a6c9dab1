import { compareUtf8 } from "#base";
import type { Infer, Path, Problems } from "#schema";
import { checkLabels, isLabelValue, isQualifiedName, type labelSelector } from "#meta";
import { invalidEach } from "./strategy.ts";

export type LabelSelector = Infer<typeof labelSelector>;

/** Keys, operators and values of a selector; an absent one is fine. */
export function checkLabelSelector(
  selector: LabelSelector | undefined,
  path: Path,
  problems: Problems,
): void {
  if (selector === undefined) return;
  checkLabels(selector.matchLabels ?? {}, path.child("matchLabels"), problems);
  for (const [index, requirement] of (selector.matchExpressions ?? []).entries()) {
    const place = path.child("matchExpressions").index(index);
    const { key, operator, values = [] } = requirement;
    const valuesPath = place.child("values");
    if (operator === "In" || operator === "NotIn") {
      if (values.length === 0) {
        problems.required(valuesPath, "must be specified when `operator` is 'In' or 'NotIn'");
      }
    } else if (operator === "Exists" || operator === "DoesNotExist") {
      if (values.length > 0) {
        const detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
        problems.forbidden(valuesPath, detail);
      }
    } else problems.invalid(place.child("operator"), operator, "not a valid selector operator");
    invalidEach(problems, place.child("key"), { value: key, messages: isQualifiedName(key) });
    for (const [i, value] of values.entries()) {
      invalidEach(problems, valuesPath.index(i), { value, messages: isLabelValue(value) });
    }
  }
}

/** `app=db,tier notin (x,y)`; `<none>` for a selector of everything. */
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

/** `app=db,tier=front`; `<none>` for no labels. */
export function formatLabels(labels: Readonly<Record<string, string>> | undefined): string {
  const all = Object.entries(labels ?? {}).sort(([a], [b]) => compareUtf8(a, b));
  return all.map(([key, value]) => `${key}=${value}`).join(",") || "<none>";
}
