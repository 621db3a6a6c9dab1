import type { Pod } from "#kinds";
import { actions } from "../framework/cluster-events.ts";
import type { Plugin } from "../framework/contract.ts";
import { podInfoOf } from "../framework/pod-info.ts";
import { skip, unschedulable } from "../framework/status.ts";

const name = "NodePorts";
const rejection = unschedulable(name, "node(s) didn't have free ports for the requested pod ports");

/** NodePorts: rejects nodes on which a host port of the pod is in use. */
export function nodePorts(): Plugin {
  return {
    name,
    preFilter: ({ podInfo }) => (podInfo.hostPorts.length === 0 ? { status: skip } : undefined),
    filter: ({ podInfo }, node) =>
      podInfo.hostPorts.some((port) => node.hasPortConflict(port)) ? rejection : undefined,
    events: [
      {
        resource: "Pod",
        action: actions.delete,
        hint: (pod, { before }) => {
          const other = before as Pod;
          const isPlaced = !!other.spec?.nodeName || !!other.status?.nominatedNodeName;
          return isPlaced && sharesPort(pod, other);
        },
      },
      { resource: "Node", action: actions.add },
    ],
  };
}

function sharesPort(pod: Pod, other: Pod): boolean {
  const used = podInfoOf(other).hostPorts;
  return podInfoOf(pod).hostPorts.some(({ port, protocol, ip }) =>
    used.some(
      (each) =>
        each.port === port &&
        each.protocol === protocol &&
        (each.ip === ip || each.ip === "0.0.0.0" || ip === "0.0.0.0"),
    ),
  );
}
