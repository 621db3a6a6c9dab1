import type { Informer } from "#client";
import {
  type CsiDriver,
  csiDrivers,
  csiStorageCapacities,
  type CsiStorageCapacity,
  labelsOf,
  type Node,
  type PersistentVolumeClaim,
} from "#kinds";
import { Quantity, selectorFromLabelSelector } from "#meta";
import type { PluginHandle } from "../../framework/handle.ts";

/** CSIStorageCapacity of drivers with `spec.storageCapacity`. */
export class StorageCapacity {
  private readonly drivers: Informer<CsiDriver>;
  private readonly capacities: Informer<CsiStorageCapacity>;

  constructor({ informers, domain }: PluginHandle) {
    this.drivers = informers.of(csiDrivers(domain));
    this.capacities = informers.of(csiStorageCapacities(domain));
  }

  /** Whether the driver has capacity for the claim in a topology of the node. */
  suffices(
    claim: PersistentVolumeClaim,
    { className, driver }: { readonly className: string; readonly driver: string },
    node: Node,
  ): boolean {
    const requested = claim.spec?.resources?.requests?.["storage"];
    if (requested === undefined || !isTracked(this.drivers.get(driver))) return true;
    const size = Quantity.parse(requested);
    for (const capacity of this.capacities.all()) {
      const { storageClassName, nodeTopology } = capacity;
      if (storageClassName !== className || nodeTopology === undefined) continue;
      const limit = volumeLimit(capacity);
      if (limit === undefined || limit.compare(size) < 0) continue;
      if (selectorFromLabelSelector(nodeTopology).matches(labelsOf(node))) return true;
    }
    return false;
  }
}

export function isTracked(driver: CsiDriver | undefined): boolean {
  return driver?.spec?.storageCapacity === true;
}

/** Maximum size of a volume; undefined = none can be created. */
export function volumeLimit(capacity: CsiStorageCapacity): Quantity | undefined {
  const text = capacity.maximumVolumeSize ?? capacity.capacity;
  return text === undefined ? undefined : Quantity.parse(text);
}
