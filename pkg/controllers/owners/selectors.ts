import { type LabelSelector, selectorFromLabelSelector } from "#meta";

type Selection = ReturnType<typeof selectorFromLabelSelector>;

/** Objects of informers do not change, so a parsed selector is good for as long as they live. */
const known = new WeakMap<LabelSelector, Selection>();

/** The selector of a workload, parsed once per object. */
export function selectorOf(selector: LabelSelector | undefined): Selection {
  if (selector === undefined) return selectorFromLabelSelector(undefined);
  const found = known.get(selector) ?? selectorFromLabelSelector(selector);
  known.set(selector, found);
  return found;
}
