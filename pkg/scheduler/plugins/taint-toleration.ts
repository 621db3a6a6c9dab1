import { isTolerated, type Node, untoleratedTaint } from "#kinds";
import { actions } from "../framework/cluster-events.ts";
import type { Plugin } from "../framework/contract.ts";
import { unresolvable } from "../framework/status.ts";
import { scaleScores } from "./helper/normalize.ts";

const name = "TaintToleration";
const rejection = unresolvable(name, "node(s) had untolerated taint(s)");

/** TaintToleration: rejects untolerated NoSchedule and NoExecute taints; scores PreferNoSchedule ones. */
export function taintToleration(): Plugin {
  return {
    name,
    filter: ({ pod }, { node }) =>
      untoleratedTaint(pod, node!) === undefined ? undefined : rejection,
    score: ({ pod }, { node }) => {
      const taints = node?.spec?.taints;
      if (taints === undefined || taints.length === 0) return 0;
      const tolerations = (pod.spec?.tolerations ?? []).filter(
        ({ effect = "" }) => effect === "" || effect === "PreferNoSchedule",
      );
      return taints.filter(
        (taint) => taint.effect === "PreferNoSchedule" && !isTolerated(taint, tolerations),
      ).length;
    },
    normalizeScore: (_context, scores) => scaleScores(scores, true),
    events: [
      {
        resource: "Node",
        action: actions.add | actions.updateNodeTaint,
        hint: (pod, { before, after }) => {
          const wasTainted =
            before === undefined || untoleratedTaint(pod, before as Node) !== undefined;
          return wasTainted && untoleratedTaint(pod, after as Node) === undefined;
        },
      },
      {
        resource: "Pod",
        action: actions.updatePodToleration,
        hint: (pod, { after }) => pod.metadata.uid === after?.metadata.uid,
      },
    ],
  };
}
