import {
  type Node,
  type NodeAffinity,
  type Pod,
  matchesTerm,
  matchesTerms,
  requiredNodeAffinity,
} from "#kinds";
import { actions } from "../framework/cluster-events.ts";
import type { Plugin, PreFilterResult } from "../framework/contract.ts";
import { skip, unresolvable } from "../framework/status.ts";
import { scaleScores } from "./helper/normalize.ts";

const name = "NodeAffinity";
const rejection = unresolvable(name, "node(s) didn't match Pod's node affinity/selector");
const enforced = unresolvable(name, "node(s) didn't match scheduler-enforced node affinity");
const conflict = unresolvable(name, "pod affinity terms conflict");

interface State {
  readonly matches: (node: Node) => boolean;
}

/** NodeAffinity: matches node selector, node affinity, and `addedAffinity` of the profile. */
export function nodeAffinity(added: NodeAffinity | undefined): Plugin {
  const addedTerms =
    added?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? undefined;
  const addedPreferences = added?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
  const isAllowed = (node: Node) => addedTerms === undefined || matchesTerms(addedTerms, node);
  return {
    name,
    preFilter: ({ state, pod }) => {
      if (!hasRequirement(pod) && addedTerms === undefined) return { status: skip };
      state.write(name, { matches: requiredNodeAffinity(pod) } satisfies State);
      return namedNodes(pod);
    },
    filter: ({ state }, { node }) => {
      if (!isAllowed(node!)) return enforced;
      return state.read<State>(name)!.matches(node!) ? undefined : rejection;
    },
    preScore: ({ pod }) =>
      preferencesOf(pod).length + addedPreferences.length === 0 ? skip : undefined,
    score: ({ pod }, { node }) => {
      let sum = 0;
      for (const { weight, preference } of [...addedPreferences, ...preferencesOf(pod)]) {
        if (matchesTerm(preference, node!)) sum += weight;
      }
      return sum;
    },
    normalizeScore: (_context, scores) => scaleScores(scores),
    events: [
      {
        resource: "Node",
        action: actions.add | actions.updateNodeLabel,
        hint: (pod, { before, after }) => {
          const matches = requiredNodeAffinity(pod);
          const fits = (node: Node) => isAllowed(node) && matches(node);
          return fits(after as Node) && (before === undefined || !fits(before as Node));
        },
      },
    ],
  };
}

function hasRequirement({ spec }: Pod): boolean {
  const required = spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return required !== undefined || spec?.nodeSelector !== undefined;
}

function preferencesOf({ spec }: Pod) {
  return spec?.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
}

/** The only nodes that can match, if every term has `metadata.name` fields. */
function namedNodes({ spec }: Pod): PreFilterResult | undefined {
  const required = spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  const terms = required?.nodeSelectorTerms ?? [];
  if (terms.length === 0) return undefined;
  const nodeNames = new Set<string>();
  for (const { matchFields = [] } of terms) {
    const lists = matchFields
      .filter(({ key, operator }) => key === "metadata.name" && operator === "In")
      .map(({ values = [] }) => values);
    const [first, ...others] = lists;
    if (first === undefined) return undefined;
    for (const each of first) {
      if (others.every((list) => list.includes(each))) nodeNames.add(each);
    }
  }
  return nodeNames.size === 0 ? { status: conflict } : { nodeNames };
}
