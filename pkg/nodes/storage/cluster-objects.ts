import type { ApiObject, Client, Draft, Handle } from "#client";
import { type CsiDriver, csiDrivers, type StorageClass, storageClasses } from "#kinds";
import { isAlreadyExists } from "#meta";
import { driverName } from "./driver.ts";
import type { StorageNames } from "./storage-names.ts";

/** The CSIDriver object of the simulated driver. */
export const csiDriver: Draft<CsiDriver> = {
  metadata: { name: driverName },
  spec: {
    attachRequired: true,
    podInfoOnMount: false,
    storageCapacity: true,
    fsGroupPolicy: "ReadWriteOnceWithFSType",
    volumeLifecycleModes: ["Persistent", "Ephemeral"],
  },
};

export function defaultClass(name: string, names: StorageNames): Draft<StorageClass> {
  return {
    metadata: { name, annotations: { [names.isDefaultClass]: "true" } },
    provisioner: driverName,
    reclaimPolicy: "Delete",
    volumeBindingMode: "Immediate",
    allowVolumeExpansion: true,
  };
}

/** Creates the objects of the driver that are not there yet; `className` "" = no default class. */
export async function createClusterObjects(
  client: Client,
  names: StorageNames,
  className: string,
): Promise<void> {
  const { domain } = client;
  await createMissing(client, csiDrivers(domain), csiDriver);
  if (className === "") return;
  await createMissing(client, storageClasses(domain), defaultClass(className, names));
}

async function createMissing<T extends ApiObject>(
  client: Client,
  resource: Handle<T>,
  draft: Draft<T>,
): Promise<void> {
  await client.create(resource, draft).catch((error: unknown) => {
    if (!isAlreadyExists(error)) throw error;
  });
}
