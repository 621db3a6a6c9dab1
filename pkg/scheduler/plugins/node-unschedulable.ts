import { isTolerated, type Node, type Pod } from "#kinds";
import { type Domain, resolve } from "#meta";
import { actions } from "../framework/cluster-events.ts";
import type { Plugin } from "../framework/contract.ts";
import { unresolvable } from "../framework/status.ts";

const name = "NodeUnschedulable";
const rejection = unresolvable(name, "node(s) were unschedulable");

/** NodeUnschedulable: rejects cordoned nodes unless the pod tolerates the taint `unschedulable`. */
export function nodeUnschedulable(domain: Domain): Plugin {
  const taint = { key: resolve("node.{label}/unschedulable", domain), effect: "NoSchedule" };
  const isAllowed = ({ spec }: Pod, node: Node) =>
    node.spec?.unschedulable !== true || isTolerated(taint, spec?.tolerations ?? []);
  return {
    name,
    filter: ({ pod }, { node }) => (isAllowed(pod, node!) ? undefined : rejection),
    events: [
      {
        resource: "Node",
        action: actions.add | actions.updateNodeTaint,
        hint: (pod, { before, after }) =>
          isAllowed(pod, after as Node) &&
          (before === undefined || !isAllowed(pod, before as Node)),
      },
      {
        resource: "Pod",
        action: actions.updatePodToleration,
        hint: (pod, { after }) => pod.metadata.uid === after?.metadata.uid,
      },
    ],
  };
}
