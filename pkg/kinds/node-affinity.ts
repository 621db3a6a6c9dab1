/** Node selectors and required node affinity of pods. */
import { type Labels, labelsOf } from "./names.ts";
import type { Node, NodeSelectorRequirement, NodeSelectorTerm } from "./node.ts";
import type { Pod } from "./pod.ts";

export type NodePredicate = (node: Node) => boolean;

/** Whether a node matches the node selector and the required node affinity of the pod. */
export function requiredNodeAffinity({ spec = {} }: Pick<Pod, "spec">): NodePredicate {
  const selector = Object.entries(spec.nodeSelector ?? {});
  const required = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return (node) => {
    const labels = labelsOf(node);
    return (
      selector.every(([key, value]) => Object.hasOwn(labels, key) && labels[key] === value) &&
      (required === undefined || matchesTerms(required.nodeSelectorTerms ?? [], node))
    );
  };
}

/** Whether one of the terms matches; no term matches nothing. */
export function matchesTerms(terms: readonly NodeSelectorTerm[], node: Node): boolean {
  return terms.some((term) => matchesTerm(term, node));
}

/** A term without requirements matches nothing. */
export function matchesTerm(term: NodeSelectorTerm, node: Node): boolean {
  const { matchExpressions = [], matchFields = [] } = term;
  if (matchExpressions.length === 0 && matchFields.length === 0) return false;
  const labels = labelsOf(node);
  const fields = { "metadata.name": node.metadata.name };
  return (
    matchExpressions.every((each) => holds(each, labels)) &&
    matchFields.every((each) => holds(each, fields))
  );
}

function holds({ key, operator, values = [] }: NodeSelectorRequirement, labels: Labels): boolean {
  const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
  switch (operator) {
    case "In":
      return value !== undefined && values.includes(value);
    case "NotIn":
      return value === undefined || !values.includes(value);
    case "Exists":
      return value !== undefined;
    case "DoesNotExist":
      return value === undefined;
    case "Gt":
      return compares(value, values[0], (a, b) => a > b);
    case "Lt":
      return compares(value, values[0], (a, b) => a < b);
    default:
      return false;
  }
}

function compares(
  value: string | undefined,
  bound: string | undefined,
  compare: (a: bigint, b: bigint) => boolean,
): boolean {
  const left = integerOf(value);
  const right = integerOf(bound);
  return left !== undefined && right !== undefined && compare(left, right);
}

/** A 64-bit integer; undefined for anything else. */
function integerOf(text = ""): bigint | undefined {
  if (!/^[-+]?\d{1,30}$/.test(text)) return undefined;
  const value = BigInt(text.replace(/^\+/, ""));
  return BigInt.asIntN(64, value) === value ? value : undefined;
}
