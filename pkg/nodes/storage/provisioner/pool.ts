import type { Informer } from "#client";
import type { PersistentVolume, StorageClass } from "#kinds";
import { Quantity } from "#meta";
import { capacityLimit, CsiError, driverName } from "../driver.ts";
import { topologyKey } from "../topology.ts";

/** Capacity of a zone without a limit: what the driver reports, and the largest volume. */
const unlimited = Quantity.parse("1Pi");

interface Volume {
  readonly className: string;
  readonly zone: string;
  readonly size: Quantity;
}

/** Storage of the simulated driver: allocated bytes per class and zone. */
export class StoragePool {
  /** Volumes that the informer does not show yet, by name. */
  private readonly created = new Map<string, Volume>();

  constructor(private readonly volumes: Informer<PersistentVolume>) {
    volumes.subscribe(({ object }) => void this.created.delete(object.metadata.name));
  }

  /**
   * Reserves storage for a volume.
   * @throws CsiError ResourceExhausted if the class lacks capacity in the zone
   */
  reserve(
    name: string,
    {
      storageClass,
      zone,
      size,
    }: Omit<Volume, "className"> & { readonly storageClass: StorageClass },
  ): void {
    const className = storageClass.metadata.name;
    this.created.delete(name);
    const left = this.available(storageClass, zone);
    if (size.compare(left) > 0) {
      const what = `requested ${size.value()} bytes, but zone ${zone} has ${left.value()} left`;
      throw new CsiError("ResourceExhausted", what);
    }
    this.created.set(name, { className, zone, size });
  }

  /** Releases the storage of a volume that was not created. */
  release(name: string): void {
    this.created.delete(name);
  }

  /** Available capacity of a class in a zone. */
  available({ metadata, parameters }: StorageClass, zone: string): Quantity {
    const limit = capacityLimit(parameters);
    if (limit === undefined) return unlimited;
    let used = Quantity.zero;
    for (const volume of this.all()) {
      if (volume.className === metadata.name && volume.zone === zone) used = used.add(volume.size);
    }
    const left = limit.subtract(used);
    return left.sign < 0 ? Quantity.zero : left;
  }

  private *all(): Iterable<Volume> {
    yield* this.created.values();
    for (const { metadata, spec } of this.volumes.all()) {
      if (spec?.csi?.driver !== driverName || this.created.has(metadata.name)) continue;
      const size = Quantity.parse(spec.capacity?.["storage"] ?? "0");
      yield { className: spec.storageClassName ?? "", zone: zoneOf({ spec }) ?? "", size };
    }
  }
}

/** Zone from which a volume of the driver is accessible. */
export function zoneOf({ spec }: Pick<PersistentVolume, "spec">): string | undefined {
  for (const { matchExpressions = [] } of spec?.nodeAffinity?.required?.nodeSelectorTerms ?? []) {
    const found = matchExpressions.find(({ key }) => key === topologyKey);
    if (found !== undefined) return found.values?.[0];
  }
  return undefined;
}
