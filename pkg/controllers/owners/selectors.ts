import { type LabelSelector, selectorFromLabelSelector } from "#meta";

type Selection = ReturnType<typeof selectorFromLabelSelector>;

/** Parsed selectors; informers' objects are immutable. */
const parsedSelectors = new WeakMap<LabelSelector, Selection>();

/** Parses the selector of a workload, once per object. */
export function selectorOf(selector: LabelSelector | undefined): Selection {
  if (selector === undefined) return selectorFromLabelSelector(undefined);
  const found = parsedSelectors.get(selector) ?? selectorFromLabelSelector(selector);
  parsedSelectors.set(selector, found);
  return found;
}
