/** Extension points of the scheduling framework, as plain functions of a plugin. */
import type { Awaitable } from "#base";
import type { Pod } from "#kinds";
import type { EventRegistration, PreEnqueue } from "./cluster-events.ts";
import type { CycleState } from "./cycle-state.ts";
import type { NodeToStatus } from "./fit-error.ts";
import type { NodeInfo } from "./node-info.ts";
import type { PodInfo } from "./pod-info.ts";
import type { Status } from "./status.ts";

/** Highest score of a node by one plugin. */
export const maxNodeScore = 100;

export interface PreFilterResult {
  /** A rejection of the pod, or `Skip`, with which Filter does not run for this pod. */
  readonly status?: Status;
  /** The only nodes that can fit; absent = all. */
  readonly nodeNames?: ReadonlySet<string>;
}

export interface PostFilterResult {
  /** Absent = some pod may fit now that the plugin has acted. */
  readonly status?: Status;
  /** Node that the pod is expected to get, "" to clear it; absent = unchanged. */
  readonly nominatedNodeName?: string;
}

/** Scores of nodes by index, for changes in place. */
export type Scores = number[];

/** A pod in the queue. */
export interface QueuedPod {
  info: PodInfo;
  /** Time in milliseconds at which the pod was added to the queue the last time. */
  timestamp: number;
  /** Time of the first attempt; 0 = none yet. */
  initialAttempt: number;
  attempts: number;
  unschedulableCount: number;
  consecutiveErrors: number;
  unschedulablePlugins: ReadonlySet<string>;
  pendingPlugins: ReadonlySet<string>;
  /** PreEnqueue plugin that keeps the pod out; "" = none. */
  gatedBy: string;
}

/** One attempt to schedule a pod. */
export interface SchedulingContext {
  /** Yields to the event loop when it has been held for some milliseconds; for loops over nodes. */
  readonly rest: () => Promise<void> | undefined;
  readonly state: CycleState;
  readonly podInfo: PodInfo;
  readonly pod: Pod;
}

/** Each extension point may be absent. An absent status means success. */
export interface Plugin {
  readonly name: string;
  /** Changes that may make a pod schedulable that the plugin has rejected. */
  readonly events?: readonly EventRegistration[];
  readonly preEnqueue?: PreEnqueue;
  /** Queue sort: whether `a` is tried before `b`. */
  readonly less?: (a: QueuedPod, b: QueuedPod) => boolean;
  readonly preFilter?: (
    context: SchedulingContext,
    nodes: readonly NodeInfo[],
  ) => Awaitable<PreFilterResult | undefined>;
  /** Changes the state of `preFilter` as if a pod were on the node, or were not. */
  readonly addPod?: (context: SchedulingContext, other: PodInfo, node: NodeInfo) => void;
  readonly removePod?: (context: SchedulingContext, other: PodInfo, node: NodeInfo) => void;
  readonly filter?: (context: SchedulingContext, node: NodeInfo) => Status | undefined;
  readonly postFilter?: (
    context: SchedulingContext,
    statuses: NodeToStatus,
  ) => Awaitable<PostFilterResult>;
  readonly preScore?: (
    context: SchedulingContext,
    nodes: readonly NodeInfo[],
  ) => Awaitable<Status | undefined>;
  readonly score?: (context: SchedulingContext, node: NodeInfo) => number;
  /** Brings scores into 0 to 100. */
  readonly normalizeScore?: (
    context: SchedulingContext,
    scores: Scores,
    nodes: readonly NodeInfo[],
  ) => void;
  readonly reserve?: (context: SchedulingContext, node: string) => Awaitable<Status | undefined>;
  readonly unreserve?: (context: SchedulingContext, node: string) => void;
  /** `Wait` delays the binding until `allow` or the timeout. */
  readonly permit?: (
    context: SchedulingContext,
    node: string,
  ) => Awaitable<PermitResult | undefined>;
  readonly preBind?: (context: SchedulingContext, node: string) => Awaitable<Status | undefined>;
  /** `Skip` leaves the binding to the next plugin. */
  readonly bind?: (context: SchedulingContext, node: string) => Awaitable<Status | undefined>;
  readonly postBind?: (context: SchedulingContext, node: string) => void;
}

export interface PermitResult {
  readonly status: Status;
  /** For `Wait`: resolves with the decision. */
  readonly decision?: Promise<Status | undefined>;
}
