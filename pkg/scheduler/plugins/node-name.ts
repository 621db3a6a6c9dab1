import { actions } from "../framework/cluster-events.ts";
import type { Plugin } from "../framework/contract.ts";
import { unresolvable } from "../framework/status.ts";

const name = "NodeName";
const rejection = unresolvable(name, "node(s) didn't match the requested node name");

/** NodeName: rejects nodes other than `spec.nodeName`. */
export function nodeName(): Plugin {
  return {
    name,
    filter: ({ pod }, node) => {
      const wanted = pod.spec?.nodeName ?? "";
      return wanted === "" || wanted === node.name ? undefined : rejection;
    },
    events: [{ resource: "Node", action: actions.add }],
  };
}
