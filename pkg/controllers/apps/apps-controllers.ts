/** Controllers of the group `apps` and of ReplicationControllers, named as in kube-controller-manager. */
import {
  type DaemonSetOptions,
  runDaemonSetController,
} from "./daemonset/daemon-set-controller.ts";
import {
  type DeploymentOptions,
  runDeploymentController,
} from "./deployment/deployment-controller.ts";
import {
  type ReplicaSetOptions,
  type ReplicationControllerOptions,
  runReplicaSetController,
  runReplicationController,
} from "./replicaset/replica-set-controller.ts";
import {
  runStatefulSetController,
  type StatefulSetOptions,
} from "./statefulset/stateful-set-controller.ts";

export interface AppsSettings
  extends
    DaemonSetOptions,
    DeploymentOptions,
    ReplicaSetOptions,
    ReplicationControllerOptions,
    StatefulSetOptions {}

/** Defaults of kube-controller-manager. */
export const defaultAppsSettings = {
  daemonSetWorkers: 2,
  deploymentWorkers: 5,
  replicaSetWorkers: 5,
  replicationControllerWorkers: 5,
  statefulSetWorkers: 5,
} as const;

export const appsControllers = [
  {
    name: "daemonset-controller",
    alias: "daemonset",
    serviceAccount: "daemon-set-controller",
    enabledByDefault: true,
    run: runDaemonSetController,
  },
  {
    name: "deployment-controller",
    alias: "deployment",
    serviceAccount: "deployment-controller",
    enabledByDefault: true,
    run: runDeploymentController,
  },
  {
    name: "replicaset-controller",
    alias: "replicaset",
    serviceAccount: "replicaset-controller",
    enabledByDefault: true,
    run: runReplicaSetController,
  },
  {
    name: "replicationcontroller-controller",
    alias: "replicationcontroller",
    serviceAccount: "replication-controller",
    enabledByDefault: true,
    run: runReplicationController,
  },
  {
    name: "statefulset-controller",
    alias: "statefulset",
    serviceAccount: "statefulset-controller",
    enabledByDefault: true,
    run: runStatefulSetController,
  },
] as const;
