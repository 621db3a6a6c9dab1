import { type Informer, objectKey, RequeueAfter, type WorkQueue } from "#client";
import {
  type ClaimCondition,
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
} from "#kinds";
import { isConflict, Quantity } from "#meta";
import { timeText } from "../../identifiers.ts";
import { type ClaimStatus, patchClaimStatus, withResizeConditions } from "./claim-status.ts";
import { conflictMs, type StorageContext, sidecarQueue, sidecarWorkers } from "../context.ts";
import { callDriver, CsiError, driverName } from "../driver.ts";
import { requestedSize } from "../provisioner/new-volume.ts";

type Claim = PersistentVolumeClaim;

/** Retry delay of an infeasible expansion. */
const infeasibleMs = 300_000;
const pendingMessage =
  "Waiting for user to (re-)start a pod to finish file system resize of volume on node.";

/** Expands volumes of the simulated driver for growing claims, like external-resizer. */
export class Resizer {
  private readonly claims: Informer<Claim>;
  private readonly volumes: Informer<PersistentVolume>;
  private readonly queue: WorkQueue;
  /** UIDs of claims whose last expansion definitely failed: a smaller size may be tried. */
  private readonly failed = new Set<string>();

  constructor(private readonly context: StorageContext) {
    this.claims = context.informers.of(persistentVolumeClaims);
    this.volumes = context.informers.of(persistentVolumes);
    this.queue = sidecarQueue(context, "resized_claims");
  }

  /** Runs until the signal aborts. */
  async run(): Promise<void> {
    const { claims, volumes } = this;
    await Promise.all([claims.untilSynced(), volumes.untilSynced()]);
    claims.subscribe(({ type, object }) => {
      if (type === "deleted") this.failed.delete(object.metadata.uid);
      else if (object.status?.phase === "Bound") this.queue.add(objectKey(object));
    });
    await this.queue.run((key) => this.sync(key), { workers: sidecarWorkers });
  }

  private async sync(key: string): Promise<void> {
    const claim = this.claims.get(key);
    if (claim?.status?.phase !== "Bound") return;
    const volume = this.volumes.get(claim.spec?.volumeName ?? "");
    if (volume?.spec?.csi?.driver !== driverName) return;
    if (volume.spec.claimRef?.uid !== claim.metadata.uid) return;
    try {
      await this.forgetFormerSize(claim, volume);
      const size = sizeToExpandTo(claim, volume, this.failed.has(claim.metadata.uid));
      if (size !== undefined) await this.expand(claim, volume, size);
    } catch (error) {
      if (isConflict(error)) throw new RequeueAfter(`claim ${key} has changed`, conflictMs);
      throw error;
    }
  }

  /** Removes the annotation of an expansion that the node has completed. */
  private async forgetFormerSize(claim: Claim, { metadata, spec }: PersistentVolume) {
    const { client, names } = this.context;
    if (metadata.annotations?.[names.preResizeCapacity] === undefined) return;
    if (capacityOf(claim.status).compare(capacityOf(spec)) < 0) return;
    const body = { metadata: { annotations: { [names.preResizeCapacity]: null } } };
    await client.patch(persistentVolumes, { name: metadata.name }, { type: "merge", body });
  }

  private async expand(shown: Claim, volume: PersistentVolume, size: Quantity): Promise<void> {
    const { allocatedResources, allocatedResourceStatuses, conditions = [] } = shown.status ?? {};
    const allocated = allocatedResources?.["storage"];
    const isSame = allocated !== undefined && Quantity.parse(allocated).equals(size);
    if (isSame && allocatedResourceStatuses?.["storage"] === "ControllerResizeInfeasible") {
      const { lastTransitionTime } =
        conditions.find(({ type }) => type === "ControllerResizeError") ?? {};
      const until = Date.parse(lastTransitionTime ?? "") + infeasibleMs;
      const waitMs = until - this.context.clock.now();
      if (waitMs > 0) throw new RequeueAfter("the expansion is infeasible", waitMs);
    }
    const claim = await this.markInProgress(shown, { size, isSame });
    this.tell(claim, "Resizing", `External resizer is resizing volume ${volume.metadata.name}`);
    try {
      await callDriver("expand", volume.spec?.csi?.volumeAttributes, this.context);
    } catch (error) {
      if (this.context.signal.aborted || !(error instanceof CsiError)) throw error;
      return this.fail(claim, volume, error);
    }
    this.failed.delete(claim.metadata.uid);
    const isOnNode = volume.spec?.volumeMode !== "Block";
    await this.growVolume(claim, volume, { size, isOnNode });
    await (isOnNode ? this.markPending(claim) : this.markFinished(claim, size));
  }

  private async markInProgress(
    claim: Claim,
    { size, isSame }: { readonly size: Quantity; readonly isSame: boolean },
  ): Promise<Claim> {
    const conditions = withResizeConditions(claim, [this.condition("Resizing")], isSame);
    return patchClaimStatus(this.context.client, claim, {
      conditions,
      allocatedResources: { storage: size.canonical() },
      ...(isSame ? {} : { allocatedResourceStatuses: { storage: "ControllerResizeInProgress" } }),
    });
  }

  private async growVolume(
    { status }: Claim,
    { metadata, spec }: PersistentVolume,
    { size, isOnNode }: { readonly size: Quantity; readonly isOnNode: boolean },
  ): Promise<void> {
    const { client, names } = this.context;
    if (capacityOf(spec).compare(size) >= 0) return;
    const before = status?.capacity?.["storage"] ?? "0";
    const known = metadata.annotations?.[names.preResizeCapacity];
    const annotations = { [names.preResizeCapacity]: known ?? before };
    const body = {
      metadata: { uid: metadata.uid, ...(isOnNode ? { annotations } : {}) },
      spec: { capacity: { storage: size.canonical() } },
    };
    await client.patch(persistentVolumes, { name: metadata.name }, { type: "merge", body });
  }

  /** Leaves the file system to the node. */
  private async markPending(claim: Claim): Promise<void> {
    const pending = this.condition("FileSystemResizePending", pendingMessage);
    await patchClaimStatus(this.context.client, claim, {
      conditions: withResizeConditions(claim, [pending], true),
      allocatedResourceStatuses: { storage: "NodeResizePending" },
    });
    const message = "Require file system resize of volume on node";
    this.tell(claim, "FileSystemResizeRequired", message);
  }

  private async markFinished(claim: Claim, size: Quantity): Promise<void> {
    await patchClaimStatus(this.context.client, claim, {
      capacity: { storage: size.canonical() },
      conditions: withResizeConditions(claim, [], false),
      allocatedResourceStatuses: null,
    });
    this.tell(claim, "VolumeResizeSuccessful", "Resize volume succeeded");
  }

  private async fail(claim: Claim, volume: PersistentVolume, error: CsiError): Promise<void> {
    if (error.isFinal) {
      this.failed.add(claim.metadata.uid);
      const message = `failed to expand pvc with ${error.message}`;
      const failure = this.condition("ControllerResizeError", message);
      const infeasible = { allocatedResourceStatuses: { storage: "ControllerResizeInfeasible" } };
      await patchClaimStatus(this.context.client, claim, {
        conditions: withResizeConditions(claim, [failure], true),
        ...(error.isInfeasible ? infeasible : {}),
      });
    } else {
      this.failed.delete(claim.metadata.uid);
    }
    const name = JSON.stringify(volume.metadata.name);
    const what = `resize volume ${name} by resizer ${JSON.stringify(driverName)} failed`;
    const message = `${what}: ${error.message}`;
    this.tell(claim, "VolumeResizeFailed", message);
    throw new RequeueAfter(message);
  }

  private tell(claim: Claim, reason: string, message: string): void {
    const type = reason === "VolumeResizeFailed" ? "Warning" : "Normal";
    this.context.recorder.record(persistentVolumeClaims, claim, { type, reason, message });
  }

  private condition(type: string, message?: string): ClaimCondition {
    const lastTransitionTime = timeText(this.context.clock.now());
    const text = message === undefined ? {} : { message };
    return { type, status: "True", lastTransitionTime, ...text };
  }
}

/**
 * Target size of the expansion; undefined = nothing to do. An expansion that may still be running is
 * completed before another size is tried.
 */
function sizeToExpandTo(
  claim: Claim,
  { spec }: PersistentVolume,
  hasFailed: boolean,
): Quantity | undefined {
  const wanted = requestedSize(claim);
  if (wanted.compare(capacityOf(claim.status)) <= 0) return undefined;
  const { allocatedResources, allocatedResourceStatuses } = claim.status ?? {};
  const text = allocatedResources?.["storage"];
  const allocated = text === undefined ? undefined : Quantity.parse(text);
  const size = capacityOf(spec);
  const isGrown = size.compare(wanted) >= 0;
  switch (allocatedResourceStatuses?.["storage"]) {
    case "NodeResizePending":
    case "NodeResizeInProgress": {
      const next = allocated ?? wanted;
      return isGrown || size.compare(next) >= 0 ? undefined : next;
    }
    case "NodeResizeInfeasible":
      return allocated ?? wanted;
    case "ControllerResizeInProgress":
      return hasFailed && !isGrown ? wanted : (allocated ?? wanted);
    case "ControllerResizeInfeasible":
      return isGrown ? (allocated ?? wanted) : wanted;
    default:
      return isGrown ? (allocated ?? wanted) : wanted;
  }
}

function capacityOf(sized: Pick<ClaimStatus, "capacity"> | undefined): Quantity {
  return Quantity.parse(sized?.capacity?.["storage"] ?? "0");
}
