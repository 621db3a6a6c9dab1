import type { Condition } from "#kinds";
import type { ContentDeletion } from "./namespaced-resources-deleter.ts";

const incompleteDiscovery = "unable to retrieve the complete list of server APIs";

const none: ReadonlyMap<string, number> = new Map();

type DeletionCondition = Pick<Condition, "type" | "status" | "reason" | "message">;

/**
 * Conditions of a terminating namespace, with kube-controller-manager's reasons and messages. While pods
 * remain, the content is not counted, and the conditions of the content say that there is none.
 */
export function deletionConditions(deletion: ContentDeletion): readonly DeletionCondition[] {
  const { discoveryFailures, failures, podsRemain } = deletion;
  const remaining = podsRemain ? none : deletion.remaining;
  const finalizers = podsRemain ? none : deletion.finalizers;
  return [
    deletionCondition("NamespaceDeletionDiscoveryFailure", {
      fault: failuresText(
        ["Discovery failed for some groups", `failing: ${incompleteDiscovery}`],
        discoveryFailures,
      ),
      reasons: ["DiscoveryFailed", "ResourcesDiscovered"],
      fine: "All resources successfully discovered",
    }),
    deletionCondition("NamespaceDeletionGroupVersionParsingFailure", {
      fault: "",
      reasons: ["GroupVersionParsingFailed", "ParsedGroupVersions"],
      fine: "All legacy kube types successfully parsed",
    }),
    deletionCondition("NamespaceDeletionContentFailure", {
      fault: failuresText(["Failed to delete all resource types", "remaining"], failures),
      reasons: ["ContentDeletionFailed", "ContentDeleted"],
      fine: "All content successfully deleted, may be waiting on finalization",
    }),
    deletionCondition("NamespaceContentRemaining", {
      fault: countsText("Some resources are remaining: ", remaining, " has "),
      reasons: ["SomeResourcesRemain", "ContentRemoved"],
      fine: "All content successfully removed",
    }),
    deletionCondition("NamespaceFinalizersRemaining", {
      fault: countsText(
        "Some content in the namespace has finalizers remaining: ",
        finalizers,
        " in ",
      ),
      reasons: ["SomeFinalizersRemain", "ContentHasNoFinalizers"],
      fine: "All content-preserving finalizers finished",
    }),
  ];
}

interface ConditionTexts {
  /** Message of the failure; "" = none. */
  readonly fault: string;
  readonly reasons: readonly [string, string];
  readonly fine: string;
}

function deletionCondition(
  type: string,
  { fault, reasons, fine }: ConditionTexts,
): DeletionCondition {
  const [failed, succeeded] = reasons;
  return fault === ""
    ? { type, status: "False", reason: succeeded, message: fine }
    : { type, status: "True", reason: failed, message: fault };
}

function failuresText(
  [what, state]: readonly [string, string],
  failures: readonly string[],
): string {
  if (failures.length === 0) return "";
  return `${what}, ${failures.length} ${state}: ${[...failures].sort().join(", ")}`;
}

function countsText(what: string, counts: ReadonlyMap<string, number>, between: string): string {
  if (counts.size === 0) return "";
  const parts = [...counts].map(([name, n]) => `${name}${between}${n} resource instances`);
  return `${what}${parts.sort().join(", ")}`;
}

/** Merges new conditions into the present ones; returns the same array if nothing changed. */
export function mergeConditions(
  conditions: readonly Condition[],
  made: readonly DeletionCondition[],
  now: string,
): readonly Condition[] {
  let changed = false;
  const next = [...conditions];
  for (const each of made) {
    const at = next.findIndex(({ type }) => type === each.type);
    const known = next[at];
    if (known === undefined) {
      next.push({ ...each, lastTransitionTime: now });
    } else if (
      known.status !== each.status ||
      known.reason !== each.reason ||
      known.message !== each.message
    ) {
      const { lastTransitionTime = now } = known;
      const since = known.status === each.status ? lastTransitionTime : now;
      next[at] = { ...each, lastTransitionTime: since };
    } else {
      continue;
    }
    changed = true;
  }
  return changed ? next : conditions;
}
