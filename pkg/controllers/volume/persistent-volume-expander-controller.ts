import { objectKey, CoreEventRecorder } from "#client";
import { type PersistentVolumeClaim, persistentVolumeClaims, persistentVolumes } from "#kinds";
import { Quantity } from "#meta";
import { type ControllerContext, newWorkQueue } from "../controller-context.ts";

const workers = 10;

/** Records an Event on growing claims whose CSI driver has to expand the volume. */
export async function runPersistentVolumeExpander(context: ControllerContext): Promise<void> {
  const { informers } = context;
  const claims = informers.of(persistentVolumeClaims);
  const volumes = informers.of(persistentVolumes);
  const queue = newWorkQueue(context, "volume_expand");
  const recorder = new CoreEventRecorder(context, "volume_expand");
  claims.subscribe((change) => {
    const { type, object } = change;
    if (type === "deleted" || object.status?.phase !== "Bound") return;
    const isNews =
      type === "added" ||
      requested(object).compare(requested(change.before)) > 0 ||
      capacity(object).compare(capacity(change.before)) > 0;
    if (isNews) queue.add(objectKey(object));
  });
  await Promise.all([claims.untilSynced(), volumes.untilSynced()]);
  const sync = async (key: string) => {
    const claim = claims.get(key);
    if (claim === undefined || requested(claim).compare(capacity(claim)) <= 0) return;
    const volume = volumes.get(claim.spec?.volumeName ?? "");
    if (volume === undefined || volume.spec?.claimRef?.uid !== claim.metadata.uid) {
      throw new Error(`persistent Volume is not bound to PVC being updated : ${key}`);
    }
    const message = "waiting for an external controller to expand this PVC";
    const event = { type: "Normal", reason: "ExternalExpanding", message } as const;
    recorder.record(persistentVolumeClaims, claim, event);
  };
  await Promise.all([recorder.run(), queue.run(sync, { workers })]);
}

function requested({ spec }: PersistentVolumeClaim): Quantity {
  return Quantity.parse(spec?.resources?.requests?.["storage"] ?? "0");
}

function capacity({ status }: PersistentVolumeClaim): Quantity {
  return Quantity.parse(status?.capacity?.["storage"] ?? "0");
}
