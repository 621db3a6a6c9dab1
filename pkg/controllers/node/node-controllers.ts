/** The controllers of nodes, with the names of kube-controller-manager. */
import {
  defaultNodeLifecycleOptions,
  type NodeLifecycleOptions,
  runNodeLifecycleController,
} from "./lifecycle/node-lifecycle-controller.ts";
import { nodeLifecycleMetrics } from "./lifecycle/node-lifecycle-metrics.ts";

export interface NodeSettings extends NodeLifecycleOptions {}

/** Defaults of kube-controller-manager. */
export const defaultNodeSettings = { ...defaultNodeLifecycleOptions } as const;

export const nodeMetrics = [...nodeLifecycleMetrics];

export const nodeControllers = [
  {
    name: "node-lifecycle-controller",
    alias: "nodelifecycle",
    serviceAccount: "node-controller",
    enabledByDefault: true,
    run: runNodeLifecycleController,
  },
] as const;
