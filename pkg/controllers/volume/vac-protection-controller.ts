import { type ApiObject, type Informer, objectKey } from "#client";
import {
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
  volumeAttributesClasses,
} from "#kinds";
import { resolve } from "#meta";
import { type ControllerContext, newWorkQueue } from "../controller-context.ts";
import { needsProtectionSync, syncProtection } from "./protection-finalizer.ts";

/**
 * Protects VolumeAttributesClasses in use: adds the finalizer `vac-protection`, and removes it from deleted
 * classes that no claim or volume references.
 */
export async function runVolumeAttributesClassProtection(
  context: ControllerContext,
): Promise<void> {
  const { client, informers } = context;
  const finalizer = resolve("{label}/vac-protection", client.domain);
  const resource = volumeAttributesClasses(client.domain);
  const queue = newWorkQueue(context, "vacprotection");
  const classes = informers.of(resource);
  const claims = informers.of(persistentVolumeClaims);
  const volumes = informers.of(persistentVolumes);
  classes.subscribe(({ type, object }) => {
    if (type !== "deleted" && needsProtectionSync(object, finalizer)) queue.add(objectKey(object));
  });
  const retryReleased = <T extends ApiObject>(
    informer: Informer<T>,
    namesOf: (object: T) => readonly string[],
  ) =>
    informer.subscribe((change) => {
      const released = change.type === "updated" ? change.before : change.object;
      for (const name of change.type === "added" ? [] : namesOf(released)) queue.add(name);
    });
  retryReleased(claims, classesOfClaim);
  retryReleased(volumes, classesOfVolume);
  await Promise.all([classes.untilSynced(), claims.untilSynced(), volumes.untilSynced()]);
  // Live lists, since the informer may lack a new claim.
  const isUsed = async ({ metadata: { name } }: ApiObject) =>
    names(volumes.all(), classesOfVolume, name) ||
    names(claims.all(), classesOfClaim, name) ||
    names((await client.list(persistentVolumes)).items, classesOfVolume, name) ||
    names((await client.list(persistentVolumeClaims)).items, classesOfClaim, name);
  await queue.run(async (name) => {
    const found = classes.get(name);
    if (found !== undefined) await syncProtection(found, { client, resource, finalizer, isUsed });
  });
}

/** Whether any object references the class. */
function names<T>(objects: Iterable<T>, classesOf: (object: T) => readonly string[], name: string) {
  for (const object of objects) if (classesOf(object).includes(name)) return true;
  return false;
}

function classesOfClaim({ spec, status }: PersistentVolumeClaim): readonly string[] {
  const names = [
    spec?.volumeAttributesClassName,
    status?.currentVolumeAttributesClassName,
    status?.modifyVolumeStatus?.targetVolumeAttributesClassName,
  ];
  return names.filter((name) => name !== undefined && name !== "") as readonly string[];
}

function classesOfVolume({ spec }: PersistentVolume): readonly string[] {
  const { volumeAttributesClassName: name = "" } = spec ?? {};
  return name === "" ? [] : [name];
}
