import { type ControllerSettings, defaultControllerSettings } from "#controllers";
import { flag, type FlagValues } from "../flags/parse.ts";

const atLeast1 = { minimum: 1 };

/** Flags of the controllers of workloads. */
export const appsFlags = {
  "concurrent-daemonset-syncs": flag(
    "int",
    defaultControllerSettings.daemonSetWorkers,
    "number of DaemonSets that are synced concurrently",
    atLeast1,
  ),
  "concurrent-deployment-syncs": flag(
    "int",
    defaultControllerSettings.deploymentWorkers,
    "number of Deployments that are synced concurrently",
    atLeast1,
  ),
  "concurrent-rc-syncs": flag(
    "int",
    defaultControllerSettings.replicationControllerWorkers,
    "number of ReplicationControllers that are synced concurrently",
    atLeast1,
  ),
  "concurrent-replicaset-syncs": flag(
    "int",
    defaultControllerSettings.replicaSetWorkers,
    "number of ReplicaSets that are synced concurrently",
    atLeast1,
  ),
  "concurrent-statefulset-syncs": flag(
    "int",
    defaultControllerSettings.statefulSetWorkers,
    "number of StatefulSets that are synced concurrently",
    atLeast1,
  ),
} as const;

export function appsSettings(values: FlagValues<typeof appsFlags>) {
  return {
    daemonSetWorkers: values["concurrent-daemonset-syncs"],
    deploymentWorkers: values["concurrent-deployment-syncs"],
    replicaSetWorkers: values["concurrent-replicaset-syncs"],
    replicationControllerWorkers: values["concurrent-rc-syncs"],
    statefulSetWorkers: values["concurrent-statefulset-syncs"],
  } satisfies Partial<ControllerSettings>;
}
