import type { Informer, WorkQueue } from "#client";
import {
  type CsiStorageCapacity,
  csiStorageCapacities,
  type PersistentVolume,
  persistentVolumes,
  type StorageClass,
  storageClasses,
} from "#kinds";
import { ignoreNotFound, Quantity } from "#meta";
import { type StorageContext, sidecarQueue } from "../context.ts";
import { CsiError, driverName } from "../driver.ts";
import type { StoragePool } from "./pool.ts";
import { type Topology, topologyKey } from "../topology.ts";

/** Namespace of CSIStorageCapacities. */
const namespace = "kube-system";
/** Value of the label managed-by. */
const managedBy = "external-provisioner";
/** Queue key for all classes; not a valid class name. */
const allClasses = "*";

/**
 * Publishes the driver's available capacity: one CSIStorageCapacity per class and zone, like
 * external-provisioner.
 */
export class Capacities {
  private readonly classes: Informer<StorageClass>;
  private readonly volumes: Informer<PersistentVolume>;
  private readonly capacities: Informer<CsiStorageCapacity>;
  private readonly queue: WorkQueue;
  private readonly resource;

  constructor(
    private readonly context: StorageContext,
    private readonly topology: Topology,
    private readonly pool: StoragePool,
  ) {
    const { client, informers } = context;
    this.resource = csiStorageCapacities(client.domain);
    this.classes = informers.of(storageClasses(client.domain));
    this.volumes = informers.of(persistentVolumes);
    this.capacities = informers.of(this.resource, { namespace });
    this.queue = sidecarQueue(context, "capacities");
  }

  /** Runs until the signal aborts. */
  async run(): Promise<void> {
    const { classes, volumes, capacities, topology } = this;
    const all = [classes.untilSynced(), volumes.untilSynced(), capacities.untilSynced()];
    await Promise.all([...all, topology.untilSynced()]);
    classes.subscribe(({ object }) => this.queue.add(object.metadata.name));
    capacities.subscribe(({ object }) => this.queue.add(object.storageClassName));
    volumes.subscribe(({ object: { spec } }) => {
      if (spec?.csi?.driver === driverName) this.queue.add(spec.storageClassName ?? "");
    });
    topology.onChange(() => this.queue.add(allClasses));
    await this.queue.run((className) => this.sync(className));
  }

  private async sync(className: string): Promise<void> {
    if (className === allClasses) {
      for (const { metadata } of this.classes.all()) this.queue.add(metadata.name);
      return;
    }
    const storageClass = this.classes.get(className);
    const isOwn = storageClass?.provisioner === driverName;
    const missing = new Set(isOwn ? this.topology.zonesFor(storageClass) : []);
    for (const object of this.capacities.all()) {
      if (!this.isManaged(object) || object.storageClassName !== className) continue;
      const zone = object.nodeTopology?.matchLabels?.[topologyKey] ?? "";
      if (isOwn && missing.delete(zone)) await this.update(object, storageClass, zone);
      else await this.delete(object);
    }
    for (const zone of missing) await this.create(storageClass!, zone);
  }

  private isManaged({ metadata: { labels = {} } }: CsiStorageCapacity): boolean {
    const { names } = this.context;
    return labels[names.driverLabel] === driverName && labels[names.managedByLabel] === managedBy;
  }

  /** Creates an object; a duplicate due to a stale informer is deleted later. */
  private async create(storageClass: StorageClass, zone: string): Promise<void> {
    const { client, names } = this.context;
    await client.create(this.resource, {
      metadata: {
        namespace,
        generateName: "csisc-",
        labels: { [names.driverLabel]: driverName, [names.managedByLabel]: managedBy },
      },
      storageClassName: storageClass.metadata.name,
      nodeTopology: { matchLabels: { [topologyKey]: zone } },
      capacity: this.availableText(storageClass, zone),
    });
  }

  private async update(
    object: CsiStorageCapacity,
    storageClass: StorageClass,
    zone: string,
  ): Promise<void> {
    const capacity = this.availableText(storageClass, zone);
    if (object.capacity === capacity) return;
    const draft = { ...object, capacity };
    await this.context.client.update(this.resource, draft).catch(ignoreNotFound);
  }

  private async delete({ metadata: { name, uid } }: CsiStorageCapacity): Promise<void> {
    const options = { preconditions: { uid } };
    await this.context.client
      .delete(this.resource, { namespace, name }, options)
      .catch(ignoreNotFound);
  }

  /** Available capacity as BinarySI quantity; 0 if the limit is invalid. */
  private availableText(storageClass: StorageClass, zone: string): string {
    try {
      const left = this.pool.available(storageClass, zone);
      return Quantity.of(left.value(), "BinarySI").canonical();
    } catch (error) {
      if (!(error instanceof CsiError)) throw error;
      return "0";
    }
  }
}
