import type { SleepOptions } from "#base";
import { type Informer, objectKey, CoreEventRecorder } from "#client";
import { type Node, nodes as nodeHandle, type Pod } from "#kinds";
import { type ControllerContext, newWorkQueue } from "../../controller-context.ts";
import { hasTaint, isSameTaint, swapTaints } from "../node-taints.ts";
import { podsByNode } from "../pods-by-node.ts";
import type { NodeNames } from "./node-conditions.ts";
import { NodeMonitor, type NodeMonitorOptions } from "./node-monitor.ts";

export interface NodeLifecycleOptions extends NodeMonitorOptions {
  /** Interval of health checks of all nodes. */
  readonly nodeMonitorPeriodMs: number;
}

/** kube-controller-manager's defaults. */
export const defaultNodeLifecycleOptions = {
  nodeMonitorPeriodMs: 5_000,
  nodeMonitorGraceMs: 50_000,
  nodeStartupGraceMs: 60_000,
  nodeEvictionRate: 0.1,
  secondaryNodeEvictionRate: 0.01,
  unhealthyZoneThreshold: 0.55,
  largeClusterSizeThreshold: 50,
} as const satisfies NodeLifecycleOptions;

const taintingPeriodMs = 100;
const nodeWorkers = 8;
const podWorkers = 4;

/**
 * Monitors node health: sets conditions of unresponsive nodes to Unknown and their pods to not ready, syncs
 * NoSchedule taints with conditions, and adds NoExecute taints to nodes that are not ready, rate-limited by
 * zone.
 */
export async function runNodeLifecycleController(
  context: ControllerContext,
  options: NodeLifecycleOptions,
): Promise<void> {
  const { informers } = context;
  const recorder = new CoreEventRecorder(context, "node-controller");
  const nodes = informers.of(nodeHandle);
  const pods = podsByNode(informers);
  const monitor = new NodeMonitor(context, options, recorder);
  const nodeQueue = newWorkQueue(context, "node_lifecycle_controller");
  const podQueue = newWorkQueue(context, "node_lifecycle_controller_pods");
  nodes.subscribe(({ type, object }) => {
    if (type !== "deleted") nodeQueue.add(object.metadata.name);
  });
  pods.subscribe((change) => {
    if (change.type === "deleted" || !change.object.spec?.nodeName) return;
    const before = change.type === "updated" ? change.before.spec?.nodeName : undefined;
    if (before !== change.object.spec.nodeName) podQueue.add(objectKey(change.object));
  });
  await Promise.all([nodes.untilSynced(), pods.untilSynced(), monitor.untilSynced()]);
  await Promise.all([
    recorder.run(),
    nodeQueue.run((name) => syncNode(context, monitor.names, nodes.get(name)), {
      workers: nodeWorkers,
    }),
    podQueue.run((key) => syncBoundPod(monitor, nodes, pods.get(key)), { workers: podWorkers }),
    repeat(context, {
      periodMs: options.nodeMonitorPeriodMs,
      what: "Failed to monitor nodes",
      work: () => monitor.checkAll(),
      idleUntil: () => monitor.idleUntil(),
    }),
    repeat(context, {
      periodMs: taintingPeriodMs,
      what: "Failed to taint nodes",
      work: async () => {
        await monitor.taintQueued();
        await monitor.untilQueued();
      },
    }),
  ]);
}

interface Repetition extends Pick<SleepOptions, "idleUntil"> {
  readonly periodMs: number;
  /** Prefix of error reports. */
  readonly what: string;
  readonly work: () => Promise<void>;
}

async function repeat(
  { clock, signal, report }: ControllerContext,
  { periodMs, what, work, ...options }: Repetition,
): Promise<void> {
  while (!signal.aborted) {
    await work().catch((error: unknown) => {
      if (!signal.aborted) report(what, error);
    });
    await clock.sleep(periodMs, signal, { background: true, ...options }).catch(() => undefined);
  }
}

/** Syncs NoSchedule taints with the conditions, and beta labels with the stable ones. */
async function syncNode(
  context: ControllerContext,
  names: NodeNames,
  node: Node | undefined,
): Promise<void> {
  if (node === undefined) return;
  const wanted = names.desiredNoSchedule(node);
  const add = wanted.filter((taint) => !hasTaint(node, taint));
  const remove = names
    .managedNoSchedule(node)
    .filter((taint) => !wanted.some((each) => isSameTaint(each, taint)));
  if (add.length > 0 || remove.length > 0) await swapTaints(context, node, { add, remove });
  const { name, uid, labels: current = {} } = node.metadata;
  const labels = Object.fromEntries(
    names.copiedLabels.flatMap(([stable, beta]) => {
      const value = current[stable];
      return value === undefined || value === current[beta] ? [] : [[beta, value]];
    }),
  );
  if (Object.keys(labels).length === 0) return;
  const body = { metadata: { uid, labels } };
  await context.client.patch(nodeHandle, { name }, { type: "merge", body });
}

/** Sets a pod to not ready that was just bound to a node that is not ready. */
async function syncBoundPod(
  monitor: NodeMonitor,
  nodes: Informer<Node>,
  pod: Pod | undefined,
): Promise<void> {
  const name = pod?.spec?.nodeName;
  if (pod === undefined || !name || nodes.get(name) === undefined) return;
  const ready = monitor.readyStatusOf(name);
  if (ready !== undefined && ready !== "True") await monitor.markNotReady([pod]);
}
