import { type Informer, objectKey, RequeueAfter, type WorkQueue } from "#client";
import {
  type ClaimCondition,
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
  type VolumeAttributesClass,
  volumeAttributesClasses,
} from "#kinds";
import { isConflict } from "#meta";
import { timeText } from "../../identifiers.ts";
import { patchClaimStatus } from "./claim-status.ts";
import { conflictMs, type StorageContext, sidecarQueue, sidecarWorkers } from "../context.ts";
import { callDriver, CsiError, driverName } from "../driver.ts";

type Claim = PersistentVolumeClaim;

/** Retry delay of an infeasible modification. */
const infeasibleMs = 300_000;
const conditionTypes = new Set(["ModifyingVolume", "ModifyVolumeError"]);

/**
 * Applies changed VolumeAttributesClasses to volumes of the simulated driver, like external-resizer.
 */
export class Modifier {
  private readonly claims: Informer<Claim>;
  private readonly volumes: Informer<PersistentVolume>;
  private readonly classes: Informer<VolumeAttributesClass>;
  private readonly queue: WorkQueue;
  /** UIDs of claims whose modification may still be running. */
  private readonly uncertain = new Set<string>();
  /** End of the retry delay of infeasible modifications in ms, by claim UID. */
  private readonly infeasible = new Map<
    string,
    { readonly target: string; readonly until: number }
  >();

  constructor(private readonly context: StorageContext) {
    const { client, informers } = context;
    this.claims = informers.of(persistentVolumeClaims);
    this.volumes = informers.of(persistentVolumes);
    this.classes = informers.of(volumeAttributesClasses(client.domain));
    this.queue = sidecarQueue(context, "modified_claims");
  }

  /** Runs until the signal aborts. */
  async run(): Promise<void> {
    const { claims, volumes, classes } = this;
    await Promise.all([claims.untilSynced(), volumes.untilSynced(), classes.untilSynced()]);
    claims.subscribe(({ type, object }) => {
      if (type !== "deleted") {
        this.queue.add(objectKey(object));
        return;
      }
      this.uncertain.delete(object.metadata.uid);
      this.infeasible.delete(object.metadata.uid);
    });
    classes.subscribe(({ type, object }) => {
      for (const claim of type === "deleted" ? [] : claims.all()) {
        const { volumeAttributesClassName } = claim.spec ?? {};
        if (volumeAttributesClassName === object.metadata.name) this.queue.add(objectKey(claim));
      }
    });
    await this.queue.run((key) => this.sync(key), { workers: sidecarWorkers });
  }

  private async sync(key: string): Promise<void> {
    const claim = this.claims.get(key);
    if (claim?.status?.phase !== "Bound") return;
    const volume = this.volumes.get(claim.spec?.volumeName ?? "");
    if (volume?.spec?.csi?.driver !== driverName) return;
    try {
      await this.modify(claim, volume);
    } catch (error) {
      if (isConflict(error)) throw new RequeueAfter(`claim ${key} has changed`, conflictMs);
      throw error;
    }
  }

  private async modify(claim: Claim, volume: PersistentVolume): Promise<void> {
    const { volumeAttributesClassName: wanted = "" } = claim.spec ?? {};
    const { currentVolumeAttributesClassName: current = "", modifyVolumeStatus } =
      claim.status ?? {};
    const { uid } = claim.metadata;
    this.restIfInfeasible(uid, wanted);
    if (modifyVolumeStatus === undefined && wanted === current) return;
    const isInProgress = modifyVolumeStatus?.status === "InProgress";
    if (wanted === "" && !isInProgress) return this.cancel(claim);
    const isUncertain = isInProgress && this.uncertain.has(uid);
    const former = modifyVolumeStatus?.targetVolumeAttributesClassName ?? "";
    const target = isUncertain || wanted === "" ? former : wanted;
    const found = this.classes.get(target);
    if (found === undefined) {
      const message = `VAC ${JSON.stringify(target)} does not exist.`;
      this.tell(claim, "VolumeModifyFailed", message);
      if (target === wanted && modifyVolumeStatus?.status !== "Pending") {
        const status = { modifyVolumeStatus: { ...modifyVolumeStatus, status: "Pending" } };
        await patchClaimStatus(this.context.client, claim, status);
      }
      return;
    }
    const marked = isUncertain || wanted === "" ? claim : await this.markInProgress(claim, found);
    await this.call(marked, volume, found);
  }

  private async call(
    claim: Claim,
    volume: PersistentVolume,
    target: VolumeAttributesClass,
  ): Promise<void> {
    try {
      await callDriver("modify", target.parameters, this.context);
    } catch (error) {
      if (this.context.signal.aborted || !(error instanceof CsiError)) throw error;
      return this.fail(claim, target, error);
    }
    const { client } = this.context;
    const { name, uid } = volume.metadata;
    const className = target.metadata.name;
    const body = { metadata: { uid }, spec: { volumeAttributesClassName: className } };
    await client.patch(persistentVolumes, { name }, { type: "merge", body });
    await patchClaimStatus(client, claim, {
      modifyVolumeStatus: null,
      currentVolumeAttributesClassName: className,
      conditions: withoutConditions(claim),
    });
    this.uncertain.delete(claim.metadata.uid);
    const what = `volume ${claim.metadata.name} with vac ${className}`;
    const message = `external resizer modified ${what} successfully`;
    this.tell(claim, "VolumeModifySuccessful", message);
  }

  private async markInProgress(claim: Claim, target: VolumeAttributesClass): Promise<Claim> {
    const { name } = target.metadata;
    const message = `Modifying volume to ${JSON.stringify(name)} is in progress.`;
    const marked = await patchClaimStatus(this.context.client, claim, {
      modifyVolumeStatus: { status: "InProgress", targetVolumeAttributesClassName: name },
      conditions: this.withConditions(claim, [{ type: "ModifyingVolume", message }]),
    });
    const what = `volume ${claim.metadata.name} with vac ${name}`;
    this.tell(marked, "VolumeModify", `external resizer is modifying ${what}`);
    return marked;
  }

  private async fail(claim: Claim, target: VolumeAttributesClass, error: CsiError): Promise<void> {
    const { uid } = claim.metadata;
    const { name } = target.metadata;
    const isInfeasible = error.code === "InvalidArgument";
    if (error.isFinal) this.uncertain.delete(uid);
    else this.uncertain.add(uid);
    const how = error.isFinal ? "failed. Waiting for retry." : "is still in progress.";
    const message = `Modifying volume to ${JSON.stringify(name)} ${how}`;
    const failure = {
      type: "ModifyVolumeError",
      reason: error.code,
      message: error.description,
    };
    await patchClaimStatus(this.context.client, claim, {
      modifyVolumeStatus: {
        status: isInfeasible ? "Infeasible" : "InProgress",
        targetVolumeAttributesClassName: name,
      },
      conditions: this.withConditions(claim, [{ type: "ModifyingVolume", message }, failure]),
    });
    if (isInfeasible) {
      this.infeasible.set(uid, { target: name, until: this.context.clock.now() + infeasibleMs });
    }
    const still = error.isFinal ? "" : `. Still modifying to VAC ${name}`;
    this.tell(claim, "VolumeModifyFailed", `${error.message}${still}`);
    throw new RequeueAfter(error.message);
  }

  /** Handles a user's rollback of the class before it was applied. */
  private async cancel(claim: Claim): Promise<void> {
    const { conditions = [] } = claim.status ?? {};
    if (!conditions.some(({ type }) => type === "ModifyingVolume")) return;
    this.tell(claim, "VolumeModifyCanceled", "Cancelled modify.");
    const left = conditions.filter(({ type }) => type !== "ModifyingVolume");
    await patchClaimStatus(this.context.client, claim, { conditions: left });
  }

  /** @throws RequeueAfter if the class was recently found infeasible */
  private restIfInfeasible(uid: string, wanted: string): void {
    const rest = this.infeasible.get(uid);
    if (rest === undefined) return;
    const leftMs = rest.until - this.context.clock.now();
    if (rest.target === wanted && leftMs > 0) {
      throw new RequeueAfter("the modification is infeasible", leftMs);
    }
    this.infeasible.delete(uid);
  }

  /** Conditions of the claim with some replaced; an unchanged one keeps its transition time. */
  private withConditions(
    { status }: Claim,
    changed: readonly Omit<ClaimCondition, "status">[],
  ): readonly ClaimCondition[] {
    const before = status?.conditions ?? [];
    const time = timeText(this.context.clock.now());
    const kept = before.filter((old) => !changed.some(({ type }) => type === old.type));
    const next = changed.map((condition) => {
      const old = before.find(({ type }) => type === condition.type);
      const isSame = old?.status === "True" && old.reason === condition.reason;
      const lastTransitionTime = isSame ? (old.lastTransitionTime ?? time) : time;
      return { ...condition, status: "True" as const, lastProbeTime: time, lastTransitionTime };
    });
    return [...kept, ...next];
  }

  private tell(claim: Claim, reason: string, message: string): void {
    const type = reason === "VolumeModifyFailed" ? "Warning" : "Normal";
    this.context.recorder.record(persistentVolumeClaims, claim, { type, reason, message });
  }
}

function withoutConditions({ status }: Claim): readonly ClaimCondition[] {
  return (status?.conditions ?? []).filter(({ type }) => !conditionTypes.has(type));
}
