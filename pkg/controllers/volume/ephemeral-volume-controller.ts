import { type Draft, objectKey, CoreEventRecorder } from "#client";
import {
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  type Pod,
  pods as podHandle,
  type Volume,
} from "#kinds";
import { type ControllerContext, newWorkQueue } from "../controller-context.ts";
import { controllerOf, controllerRef } from "../owners/controller-ref.ts";

export interface EphemeralVolumeOptions {
  readonly ephemeralVolumeWorkers: number;
}

interface ClaimTemplate {
  readonly metadata?: {
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec: PersistentVolumeClaim["spec"];
}

/** Creates the claims of generic ephemeral volumes, owned by their pods. */
export async function runEphemeralVolumeController(
  context: ControllerContext,
  { ephemeralVolumeWorkers: workers }: EphemeralVolumeOptions,
): Promise<void> {
  const { client, informers, instruments } = context;
  const queue = newWorkQueue(context, "ephemeral_volume");
  const recorder = new CoreEventRecorder(context, "ephemeral_volume");
  const pods = informers.of(podHandle);
  const claims = informers.of(persistentVolumeClaims);
  pods.subscribe(({ type, object }) => {
    // Volumes of a pod are immutable.
    if (type === "added" && hasEphemeral(object)) queue.add(objectKey(object));
  });
  claims.subscribe(({ type, object }) => {
    if (type !== "deleted") return;
    // Recreates a claim that was deleted before its pod.
    const owner = controllerOf(object);
    if (owner?.kind === "Pod") queue.add(`${object.metadata.namespace}/${owner.name}`);
  });
  await Promise.all([pods.untilSynced(), claims.untilSynced()]);
  const ensure = async (pod: Pod, volume: Volume) => {
    const draft = claimOf(pod, volume);
    const name = draft.metadata.name!;
    const present = claims.get(`${pod.metadata.namespace}/${name}`);
    if (present !== undefined) return checkOwner(present, pod);
    instruments.add("ephemeral_volume_controller_create_total", {}, 1);
    await client.create(persistentVolumeClaims, draft).catch((error: unknown) => {
      instruments.add("ephemeral_volume_controller_create_failures_total", {}, 1);
      throw new Error(`create PVC ${name}: ${textOf(error)}`, { cause: error });
    });
  };
  const sync = async (key: string) => {
    const pod = pods.get(key);
    if (pod === undefined || pod.metadata.deletionTimestamp !== undefined) return;
    for (const volume of pod.spec?.volumes ?? []) {
      if (volume.ephemeral === undefined) continue;
      await ensure(pod, volume).catch((error: unknown) => {
        const message = `ephemeral volume ${volume.name}: ${textOf(error)}`;
        recorder.record(podHandle, pod, { type: "Warning", reason: "FailedBinding", message });
        throw new Error(`pod ${key}, ${message}`, { cause: error });
      });
    }
  };
  await Promise.all([recorder.run(), queue.run(sync, { workers })]);
}

function hasEphemeral({ spec }: Pod): boolean {
  return (spec?.volumes ?? []).some(({ ephemeral }) => ephemeral !== undefined);
}

function claimOf(pod: Pod, volume: Volume): Draft<PersistentVolumeClaim> {
  const { volumeClaimTemplate } = volume.ephemeral as {
    readonly volumeClaimTemplate: ClaimTemplate;
  };
  const { labels = {}, annotations = {} } = volumeClaimTemplate.metadata ?? {};
  const { namespace = "", name } = pod.metadata;
  const ownerReferences = [controllerRef(podHandle, pod)];
  const metadata = {
    namespace,
    name: `${name}-${volume.name}`,
    labels,
    annotations,
    ownerReferences,
  };
  return { metadata, ...(volumeClaimTemplate.spec ? { spec: volumeClaimTemplate.spec } : {}) };
}

/** @throws Error if the claim has another owner */
function checkOwner(claim: PersistentVolumeClaim, pod: Pod): void {
  if (controllerOf(claim)?.uid === pod.metadata.uid) return;
  const what = `PVC ${objectKey(claim)} was not created for pod ${objectKey(pod)}`;
  throw new Error(`${what} (pod is not owner)`);
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
