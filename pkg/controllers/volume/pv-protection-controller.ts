import { objectKey } from "#client";
import { persistentVolumes } from "#kinds";
import { resolve } from "#meta";
import { type ControllerContext, newWorkQueue } from "../controller-context.ts";
import { needsProtectionSync, syncProtection } from "./protection-finalizer.ts";

/**
 * Protects bound PersistentVolumes: adds the finalizer `pv-protection`, and removes it from deleted volumes
 * whose phase is not Bound.
 */
export async function runPersistentVolumeProtection(context: ControllerContext): Promise<void> {
  const { client, informers } = context;
  const finalizer = resolve("{label}/pv-protection", client.domain);
  const queue = newWorkQueue(context, "pvprotection");
  const volumes = informers.of(persistentVolumes);
  volumes.subscribe(({ type, object }) => {
    if (type !== "deleted" && needsProtectionSync(object, finalizer)) queue.add(objectKey(object));
  });
  await queue.run(async (name) => {
    const volume = volumes.get(name);
    if (volume === undefined) return;
    await syncProtection(volume, {
      client,
      resource: persistentVolumes,
      finalizer,
      isUsed: ({ status }) => status?.phase === "Bound",
    });
  });
}
