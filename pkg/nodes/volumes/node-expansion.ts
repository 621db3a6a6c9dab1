import { type Informer, objectKey, RequeueAfter, WorkQueue } from "#client";
import {
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  type Pod,
  pods,
} from "#kinds";
import { isConflict } from "#meta";
import { timeText } from "../identifiers.ts";
import type { PodHost } from "../pod/pod-host.ts";
import type { KubeletEvents } from "../events/kubelet-events.ts";
import type { NodesContext } from "../settings.ts";
import { conflictMs, sidecarDelays } from "../storage/context.ts";
import { callDriver, CsiError, driverName } from "../storage/driver.ts";
import { patchClaimStatus, withResizeConditions } from "../storage/resizer/claim-status.ts";
import type { PodVolumes } from "./pod-volumes.ts";

export interface NodeExpansionOptions {
  readonly context: NodesContext;
  readonly events: KubeletEvents;
  readonly pods: Informer<Pod>;
  readonly volumes: PodVolumes;
  readonly hostOf: (node: string) => PodHost | undefined;
}

type Claim = PersistentVolumeClaim;

/** Index of pods by claim. */
const byClaim = "claim";
const workers = 10;

/** Node expansion: expands file systems of mounted volumes that the driver has expanded. */
export class NodeExpansion {
  private readonly claims: Informer<Claim>;
  private readonly queue: WorkQueue;

  constructor(private readonly options: NodeExpansionOptions) {
    const { context } = options;
    const { informers } = context;
    this.claims = informers.of(persistentVolumeClaims);
    this.queue = new WorkQueue({
      ...context,
      name: "simulated_expansions",
      delays: sidecarDelays,
    });
    options.pods.addIndex(byClaim, claimKeys);
  }

  /** Runs until the signal aborts. */
  async run(): Promise<void> {
    await this.claims.untilSynced();
    this.claims.subscribe(({ type, object }) => {
      if (type !== "deleted" && isPending(object)) this.queue.add(objectKey(object));
    });
    await this.queue.run((key) => this.sync(key), { workers });
  }

  /** Called after the volumes of a pod have been mounted. */
  podMounted(pod: Pod): void {
    for (const key of claimKeys(pod)) {
      const claim = this.claims.get(key);
      if (claim !== undefined && isPending(claim)) this.queue.add(key);
    }
  }

  private async sync(key: string): Promise<void> {
    const claim = this.claims.get(key);
    if (claim === undefined || !isPending(claim)) return;
    const { volumes, hostOf } = this.options;
    const volume = volumes.claimed.volumeOf(claim);
    if (volume?.spec?.csi?.driver !== driverName) return;
    const pod = this.options.pods
      .indexed(byClaim, key)
      .find(({ metadata }) => volumes.isMounted(metadata.uid));
    const host = hostOf(pod?.spec?.nodeName ?? "");
    if (pod === undefined || host?.isWorking !== true) return;
    try {
      await this.expand(claim, volume, { pod, host });
    } catch (error) {
      if (isConflict(error)) throw new RequeueAfter(`claim ${key} has changed`, conflictMs);
      throw error;
    }
  }

  private async expand(
    shown: Claim,
    { metadata, spec }: PersistentVolume,
    { pod, host }: { readonly pod: Pod; readonly host: PodHost },
  ): Promise<void> {
    const claim = await patchClaimStatus(host.client, shown, {
      allocatedResourceStatuses: { storage: "NodeResizeInProgress" },
    });
    try {
      await callDriver("node-expand", spec?.csi?.volumeAttributes, this.options.context);
    } catch (error) {
      if (!(error instanceof CsiError)) throw error;
      return this.fail(claim, error, { pod, host, volume: metadata.name });
    }
    const what = `MountVolume.NodeExpandVolume succeeded for volume ${JSON.stringify(metadata.name)}`;
    const event = {
      type: "Normal",
      reason: "FileSystemResizeSuccessful",
      message: `${what} ${host.name}`,
      host: host.name,
    } as const;
    this.options.events.record(pods, pod, event);
    this.options.events.record(persistentVolumeClaims, claim, event);
    await patchClaimStatus(host.client, claim, {
      capacity: { storage: spec?.capacity?.["storage"] ?? "0" },
      conditions: withResizeConditions(claim, [], false),
      allocatedResourceStatuses: null,
    });
  }

  private async fail(
    claim: Claim,
    error: CsiError,
    at: { readonly pod: Pod; readonly host: PodHost; readonly volume: string },
  ): Promise<void> {
    const { pod, host, volume } = at;
    if (error.isFinal) {
      const condition = {
        type: "NodeResizeError",
        status: "True",
        lastTransitionTime: timeText(this.options.context.clock.now()),
        message: `failed to expand pvc with ${error.message}`,
      } as const;
      const infeasible = { allocatedResourceStatuses: { storage: "NodeResizeInfeasible" } };
      await patchClaimStatus(host.client, claim, {
        conditions: withResizeConditions(claim, [condition], true),
        ...(error.isInfeasible ? infeasible : {}),
      });
    }
    const what = `NodeExpandVolume.NodeExpandVolume failed for volume ${JSON.stringify(volume)}`;
    const message = `${what} : ${error.message}`;
    const reason = "VolumeResizeFailed";
    this.options.events.record(pods, pod, { type: "Warning", reason, message, host: host.name });
    throw new RequeueAfter(message);
  }
}

/** Whether the claim waits for a node to expand the file system. */
function isPending({ status }: Claim): boolean {
  const step = status?.allocatedResourceStatuses?.["storage"];
  return step === "NodeResizePending" || step === "NodeResizeInProgress";
}

/** Keys of the claims that a pod uses. */
function claimKeys({ metadata, spec }: Pod): readonly string[] {
  return (spec?.volumes ?? []).flatMap(({ name, persistentVolumeClaim, ephemeral }) => {
    const claim = persistentVolumeClaim?.claimName ?? (ephemeral && `${metadata.name}-${name}`);
    return claim === undefined ? [] : [`${metadata.namespace}/${claim}`];
  });
}
