/** Events that the kubelet records about its node. */
import type { NodeCondition, NodeStatus } from "#kinds";
import type { KubeletEvent } from "./kubelet-event.ts";

/** Reasons by type of condition, for the status True and for any other. */
const conditionReasons: Readonly<Record<string, readonly [whenTrue: string, otherwise: string]>> = {
  MemoryPressure: ["NodeHasInsufficientMemory", "NodeHasSufficientMemory"],
  DiskPressure: ["NodeHasDiskPressure", "NodeHasNoDiskPressure"],
  PIDPressure: ["NodeHasInsufficientPID", "NodeHasSufficientPID"],
  Ready: ["NodeReady", "NodeNotReady"],
};

/** Events of a kubelet that has started and registered its node. */
export function registrationEvents(
  node: string,
  conditions: readonly NodeCondition[] = [],
): readonly KubeletEvent[] {
  const isNew = ({ type }: NodeCondition) => type !== "Ready";
  return [
    { type: "Normal", reason: "Starting", message: "Starting kubelet." },
    {
      type: "Normal",
      reason: "NodeAllocatableEnforced",
      message: "Updated Node Allocatable limit across pods",
    },
    ...conditions.filter(isNew).flatMap((condition) => conditionEvent(node, condition)),
  ];
}

/** Events of changed conditions. */
export function conditionEvents(
  node: string,
  before: NodeStatus,
  after: NodeStatus,
): readonly KubeletEvent[] {
  return (after.conditions ?? []).flatMap((condition) => {
    const known = before.conditions?.find(({ type }) => type === condition.type);
    const isChanged = known !== undefined && known.status !== condition.status;
    return isChanged ? conditionEvent(node, condition) : [];
  });
}

/** Event of a cordoned or uncordoned node. */
export function schedulableEvent(node: string, isSchedulable: boolean): KubeletEvent {
  return statusEvent(node, isSchedulable ? "NodeSchedulable" : "NodeNotSchedulable");
}

function conditionEvent(node: string, { type, status }: NodeCondition): readonly KubeletEvent[] {
  const reasons = conditionReasons[type];
  return reasons === undefined ? [] : [statusEvent(node, reasons[status === "True" ? 0 : 1])];
}

function statusEvent(node: string, reason: string): KubeletEvent {
  return { type: "Normal", reason, message: `Node ${node} status is now: ${reason}` };
}
