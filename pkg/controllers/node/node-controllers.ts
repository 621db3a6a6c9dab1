/** Controllers of nodes, named as in kube-controller-manager. */
import {
  defaultNodeLifecycleOptions,
  type NodeLifecycleOptions,
  runNodeLifecycleController,
} from "./lifecycle/node-lifecycle-controller.ts";
import { nodeLifecycleMetrics } from "./lifecycle/node-lifecycle-metrics.ts";
import { runTaintEvictionController, taintEvictionMetrics } from "./taint-eviction-controller.ts";
import { runTtlController } from "./ttl-controller.ts";

export interface NodeSettings extends NodeLifecycleOptions {}

/** Defaults of kube-controller-manager. */
export const defaultNodeSettings = { ...defaultNodeLifecycleOptions } as const;

export const nodeMetrics = [...nodeLifecycleMetrics, ...taintEvictionMetrics];

export const nodeControllers = [
  {
    name: "node-lifecycle-controller",
    alias: "nodelifecycle",
    serviceAccount: "node-controller",
    enabledByDefault: true,
    run: runNodeLifecycleController,
  },
  {
    name: "taint-eviction-controller",
    serviceAccount: "node-controller",
    enabledByDefault: true,
    run: runTaintEvictionController,
  },
  {
    name: "ttl-controller",
    alias: "ttl",
    serviceAccount: "ttl-controller",
    enabledByDefault: true,
    run: runTtlController,
  },
] as const;
