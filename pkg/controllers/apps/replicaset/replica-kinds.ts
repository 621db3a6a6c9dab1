import type { Handle } from "#client";
import {
  type ReplicaSet,
  replicaSets,
  type ReplicationController,
  replicationControllers,
} from "#kinds";
import { selectorOf } from "../../owners/selectors.ts";

/** A workload with a number of identical pods. */
export type ReplicaWorkload = ReplicaSet | ReplicationController;

/** Differences between the two kinds. */
export interface ReplicaKind<T extends ReplicaWorkload> {
  readonly resource: Handle<T>;
  /** Name of the work queue in kube-controller-manager's metrics. */
  readonly queue: string;
  /** Source component of its Events. */
  readonly component: string;
  readonly selectorOf: (workload: T) => ReturnType<typeof selectorOf>;
}

export const replicaSetKind: ReplicaKind<ReplicaSet> = {
  resource: replicaSets,
  queue: "replicaset",
  component: "replicaset-controller",
  selectorOf: ({ spec }) => selectorOf(spec.selector),
};

const mapSelectors = new WeakMap<object, ReturnType<typeof selectorOf>>();

export const replicationControllerKind: ReplicaKind<ReplicationController> = {
  resource: replicationControllers,
  queue: "replicationmanager",
  component: "replication-controller",
  selectorOf: ({ spec }) => {
    const matchLabels = spec.selector ?? {};
    const found = mapSelectors.get(matchLabels) ?? selectorOf({ matchLabels });
    mapSelectors.set(matchLabels, found);
    return found;
  },
};
