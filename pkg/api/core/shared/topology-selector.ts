import { required, list, value, string, structs } from "#schema";
import { type Infer, type Path, type Problems } from "#schema";
import { identity } from "#base";
import { isQualifiedName } from "#meta";
import { invalidEach, duplicateIndexes } from "../../strategy.ts";

const v1 = structs("api/core/v1");

const topologySelectorLabelRequirement = v1(
  "TopologySelectorLabelRequirement",
  "Topology selector requirement on one label.",
  {
    key: required(1, string, "Key of the node label."),
    values: required(2, list(string), "Values of the label, one of which must match. Required.", {
      listType: "atomic",
    }),
  },
);

export const topologySelectorTerm = v1(
  "TopologySelectorTerm",
  "Topology selector term: requirements on the labels of a node. An empty term matches no nodes.",
  {
    matchLabelExpressions: value(
      1,
      list(topologySelectorLabelRequirement),
      "Topology selector requirements by label, which are ANDed.",
      { listType: "atomic" },
    ),
  },
  { atomic: true },
);

/** Maximum number of causes per term; Kubernetes has no limit. */
const maxReportedCauses = 16;

type Term = Infer<typeof topologySelectorTerm>;

/** Requires unique terms, keys within a term, and values of a key. */
export function checkTopologyTerms(terms: readonly Term[], path: Path, problems: Problems): void {
  const empty = identity({});
  // Kubernetes compares an empty term with as many empty ones as there are terms.
  const seen = new Map<unknown, number>([[empty, terms.length]]);
  for (const [index, term] of terms.entries()) {
    const matchLabelExpressionsPath = path.index(index).child("matchLabelExpressions");
    const found = identity(
      Object.fromEntries(checkTerm(term, matchLabelExpressionsPath, problems)),
    );
    const count = seen.get(found) ?? 0;
    const reported = Math.min(count, maxReportedCauses);
    for (let each = 0; each < reported; each++) problems.duplicate(matchLabelExpressionsPath, "");
    seen.set(found, count + 1);
  }
}

function checkTerm(term: Term, path: Path, problems: Problems): Map<string, readonly string[]> {
  const found = new Map<string, readonly string[]>();
  for (const [index, requirement] of (term.matchLabelExpressions ?? []).entries()) {
    const itemPath = path.index(index);
    const { key } = requirement;
    const values = requirement.values ?? [];
    if (values.length === 0) problems.required(itemPath.child("values"));
    for (const i of duplicateIndexes(values, (value) => value)) {
      problems.duplicate(itemPath.child("values").index(i), values[i]);
    }
    invalidEach(problems, itemPath.child("key"), { value: key, messages: isQualifiedName(key) });
    if (found.has(key)) problems.duplicate(itemPath.child("key"), key);
    found.set(key, [...new Set(values)].sort());
  }
  return found;
}
