/** Extension points of the scheduling framework, as plain functions of a plugin. */
import type { Awaitable } from "#base";
import type { Pod } from "#kinds";
import type { EventRegistration, PreEnqueue } from "./cluster-events.ts";
import type { CycleState } from "./cycle-state.ts";
import type { NodeToStatus } from "./fit-error.ts";
import type { NodeInfo } from "./node-info.ts";
import type { PodInfo } from "./pod-info.ts";
import type { Status } from "./status.ts";

/** Maximum score of a node by one plugin. */
export const maxNodeScore = 100;

export interface PreFilterResult {
  /** A rejection of the pod, or `Skip`: Filter is skipped for this pod. */
  readonly status?: Status;
  /** Names of the only nodes to consider; absent = all. */
  readonly nodeNames?: ReadonlySet<string>;
}

export interface PostFilterResult {
  /** Absent = success: the plugin acted to make the pod schedulable. */
  readonly status?: Status;
  /** Nominated node; "" = clear it, absent = unchanged. */
  readonly nominatedNodeName?: string;
}

/** Scores by node index; modified in place. */
export type Scores = number[];

/** A pod in the queue. */
export interface QueuedPod {
  info: PodInfo;
  /** Time in milliseconds at which the pod was last added to the queue. */
  timestamp: number;
  /** Time of the first attempt; 0 = none yet. */
  initialAttempt: number;
  attempts: number;
  unschedulableCount: number;
  consecutiveErrors: number;
  unschedulablePlugins: ReadonlySet<string>;
  pendingPlugins: ReadonlySet<string>;
  /** PreEnqueue plugin that gates the pod; "" = none. */
  gatedBy: string;
}

/** One scheduling cycle of a pod. */
export interface SchedulingContext {
  /** Yields to the event loop if it has been blocked for some milliseconds; for loops over nodes. */
  readonly rest: () => Promise<void> | undefined;
  readonly state: CycleState;
  readonly podInfo: PodInfo;
  readonly pod: Pod;
}

/** A plugin; every extension point is optional. An absent status means success. */
export interface Plugin {
  readonly name: string;
  /** Events that may make a pod schedulable that the plugin rejected. */
  readonly events?: readonly EventRegistration[];
  readonly preEnqueue?: PreEnqueue;
  /** QueueSort: whether `a` precedes `b`. */
  readonly less?: (a: QueuedPod, b: QueuedPod) => boolean;
  readonly preFilter?: (
    context: SchedulingContext,
    nodes: readonly NodeInfo[],
  ) => Awaitable<PreFilterResult | undefined>;
  /** PreFilter extension: updates the state as if a pod were added to the node. */
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
  /** Normalizes scores to 0 to 100. */
  readonly normalizeScore?: (
    context: SchedulingContext,
    scores: Scores,
    nodes: readonly NodeInfo[],
  ) => void;
  readonly reserve?: (context: SchedulingContext, node: string) => Awaitable<Status | undefined>;
  readonly unreserve?: (context: SchedulingContext, node: string) => void;
  /** `Wait` delays the binding until the decision or the timeout. */
  readonly permit?: (
    context: SchedulingContext,
    node: string,
  ) => Awaitable<PermitResult | undefined>;
  readonly preBind?: (context: SchedulingContext, node: string) => Awaitable<Status | undefined>;
  /** Binds the pod; `Skip` = the next plugin binds it. */
  readonly bind?: (context: SchedulingContext, node: string) => Awaitable<Status | undefined>;
  readonly postBind?: (context: SchedulingContext, node: string) => void;
}

export interface PermitResult {
  readonly status: Status;
  /** For `Wait`: resolves with the decision. */
  readonly decision?: Promise<Status | undefined>;
}
