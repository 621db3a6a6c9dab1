import type { Clock, Random } from "#base";
import type { ApiObject, Client, Handle, Informer, Selection } from "#client";
import type { Pod } from "#kinds";
import type { Domain } from "#meta";
import type { Instruments } from "#request";
import type { Snapshot } from "../cache/snapshot.ts";
import type { DeviceManager } from "./device-manager.ts";
import type { SchedulingContext } from "./contract.ts";
import type { NodeInfo } from "./node-info.ts";
import type { Nominator } from "./nominator.ts";
import type { PodInfo } from "./pod-info.ts";
import type { Status } from "./status.ts";

/** Filters of the profile, for plugins that simulate placements. */
export interface Filters {
  filterWithNominated(context: SchedulingContext, node: NodeInfo): Status | undefined;
  addPod(context: SchedulingContext, other: PodInfo, node: NodeInfo): void;
  removePod(context: SchedulingContext, other: PodInfo, node: NodeInfo): void;
}

/** A node and the pods to evict from it. */
export interface PreemptionVictims {
  readonly node: string;
  readonly victims: readonly Pod[];
  /** Number of victims whose eviction violates a PodDisruptionBudget. */
  readonly violations: number;
}

/** Preemption part of extenders. */
export interface PreemptionExtenders {
  /** Returns the candidates that all extenders accept. */
  preempt(
    pod: Pod,
    candidates: readonly PreemptionVictims[],
    nodeOf: (name: string) => NodeInfo | undefined,
  ): Promise<readonly PreemptionVictims[]>;
}

/** Shared informers; the scheduler starts once those requested by plugins have synced. */
export interface PluginInformers {
  of<T extends ApiObject>(resource: Handle<T>, selection?: Selection): Informer<T>;
}

export interface PodEvent {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly action: string;
  readonly note: string;
  readonly related?: Pod;
}

/** Dependencies of plugins. */
export interface PluginHandle {
  readonly domain: Domain;
  readonly client: Client;
  readonly informers: PluginInformers;
  /** Snapshot of the current scheduling cycle. */
  readonly snapshot: Snapshot;
  readonly nominator: Nominator;
  readonly extenders: PreemptionExtenders;
  /** Claims and devices, which all profiles share. */
  readonly devices: DeviceManager;
  readonly filters: () => Filters;
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
  readonly instruments: Instruments;
  readonly report: (what: string, error: unknown) => void;
  readonly recordEvent: (pod: Pod, event: PodEvent) => void;
  /** Activates a pod without an event. */
  readonly activate: (pod: Pod) => void;
  /** Writes conditions and the nominated node into the status of a pod. */
  readonly patchStatus: (pod: Pod, patch: StatusPatch) => Promise<void>;
  /** Runs `work` after earlier status writes of the pod. */
  readonly inOrder: <T>(pod: Pod, work: () => Promise<T>) => Promise<T>;
  /** Current version of the pod in the informer. */
  readonly currentPod: (pod: ApiObject) => Pod | undefined;
}

export interface StatusPatch {
  readonly condition?: {
    readonly type: string;
    readonly status: "True" | "False";
    readonly reason: string;
    readonly message: string;
  };
  readonly nominatedNodeName?: string;
}
