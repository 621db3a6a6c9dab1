import { actions } from "../framework/cluster-events.ts";
import type { Plugin } from "../framework/contract.ts";
import { unresolvable } from "../framework/status.ts";

const name = "SchedulingGates";

/** SchedulingGates: gates pods until their scheduling gates are removed. */
export function schedulingGates(): Plugin {
  return {
    name,
    preEnqueue: ({ spec }) => {
      const gates = spec?.schedulingGates ?? [];
      if (gates.length === 0) return undefined;
      const names = gates.map((gate) => gate.name).join(" ");
      return unresolvable(name, `waiting for scheduling gates: [${names}]`);
    },
    events: [
      {
        resource: "Pod",
        action: actions.updatePodSchedulingGatesEliminated,
        hint: (pod, { after }) => pod.metadata.uid === after?.metadata.uid,
      },
    ],
  };
}
