import type { Informer } from "#client";
import {
  type CsiNode,
  csiNodes,
  namespaceOf,
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
  type Pod,
  type StorageClass,
  storageClasses,
  type VolumeAttachment,
  volumeAttachments,
} from "#kinds";
import { VolumeNames } from "#volumes";
import { actions } from "../framework/cluster-events.ts";
import type { Plugin } from "../framework/contract.ts";
import type { PluginHandle } from "../framework/handle.ts";
import type { NodeInfo } from "../framework/node-info.ts";
import {
  errorStatus,
  skip,
  type Status,
  unresolvable,
  unschedulable,
} from "../framework/status.ts";
import { CsiMigration, type CsiVolume } from "./helper/csi-migration.ts";
import { foreignClaim, notFound, usedClaims, usesClaim } from "./helper/pod-claims.ts";

const name = "NodeVolumeLimits";
const exceeded = unschedulable(name, "node(s) exceed max volume count");

/** CSI drivers by unique volume name `driver/handle`. */
type DriverByVolume = Map<string, string>;

/** NodeVolumeLimits: rejects nodes whose CSI attach limits the pod would exceed. */
export function nodeVolumeLimits(handle: PluginHandle): Plugin {
  const volumes = new CsiVolumes(handle);
  const { migration } = volumes;
  return {
    name,
    preFilter: ({ pod }) => {
      const isConcerned = usedClaims(pod).length > 0 || hasMigratable(pod, migration);
      return isConcerned ? undefined : { status: skip };
    },
    filter: ({ pod }, node) => volumes.rejection(pod, node),
    events: [
      { resource: "CSINode", action: actions.add },
      {
        resource: "CSINode",
        action: actions.update,
        hint: (_pod, { before, after }) => hasMore(before as CsiNode, after as CsiNode),
      },
      {
        resource: "Pod",
        action: actions.delete,
        hint: (_pod, { before }) => {
          const other = before as Pod;
          const isPlaced = !!other.spec?.nodeName || !!other.status?.nominatedNodeName;
          return isPlaced && (usedClaims(other).length > 0 || hasMigratable(other, migration));
        },
      },
      {
        resource: "PersistentVolumeClaim",
        action: actions.add,
        hint: (pod, { after }) => usesClaim(pod, after as PersistentVolumeClaim),
      },
      {
        resource: "VolumeAttachment",
        action: actions.delete,
        hint: (pod, { before }) => {
          const { attacher } = (before as VolumeAttachment).spec;
          return (pod.spec?.volumes ?? []).some(
            (volume) =>
              volume.persistentVolumeClaim !== undefined || migration.isOfDriver(volume, attacher),
          );
        },
      },
    ],
  };
}

/** CSI volumes that pods need on a node, and those attached there. */
class CsiVolumes {
  readonly migration: CsiMigration;
  private readonly names: VolumeNames;
  private readonly nodes: Informer<CsiNode>;
  private readonly claims: Informer<PersistentVolumeClaim>;
  private readonly volumes: Informer<PersistentVolume>;
  private readonly classes: Informer<StorageClass>;
  private readonly attachments = new Map<string, Map<string, VolumeAttachment>>();
  /** Prefix of placeholder handles of volumes that are not provisioned yet. */
  private readonly unmade: string;

  constructor({ informers, domain, random }: PluginHandle) {
    this.migration = new CsiMigration(domain);
    this.names = new VolumeNames(domain);
    this.nodes = informers.of(csiNodes(domain));
    this.claims = informers.of(persistentVolumeClaims);
    this.volumes = informers.of(persistentVolumes);
    this.classes = informers.of(storageClasses(domain));
    this.unmade = random.uuid();
    informers.of(volumeAttachments(domain)).subscribe(({ type, object }) => {
      const { nodeName } = object.spec;
      const known = this.attachments.get(nodeName) ?? new Map<string, VolumeAttachment>();
      if (type === "deleted") known.delete(object.metadata.name);
      else known.set(object.metadata.name, object);
      if (known.size === 0) this.attachments.delete(nodeName);
      else this.attachments.set(nodeName, known);
    });
  }

  rejection(pod: Pod, node: NodeInfo): Status | undefined {
    const csiNode = this.nodes.get(node.name);
    const needed: DriverByVolume = new Map();
    const fault = this.collect(pod, csiNode, { into: needed, isNew: true });
    if (fault !== undefined) return fault;
    const limits = limitsOf(csiNode);
    if (needed.size === 0 || limits.size === 0) return undefined;
    const used: DriverByVolume = new Map();
    for (const other of node.pods) {
      const otherFault = this.collect(other.pod, csiNode, { into: used, isNew: false });
      if (otherFault !== undefined) return otherFault;
    }
    for (const volume of used.keys()) needed.delete(volume);
    for (const [volume, driver] of this.attachedTo(node.name)) used.set(volume, driver);
    const [counts, more] = [countsOf(used), countsOf(needed)];
    for (const [driver, count] of more) {
      const limit = limits.get(driver);
      if (limit !== undefined && (counts.get(driver) ?? 0) + count > limit) return exceeded;
    }
    return undefined;
  }

  /** Collects the volumes of a pod; returns an error for an unresolvable claim of a new pod. */
  private collect(
    pod: Pod,
    csiNode: CsiNode | undefined,
    { into, isNew }: { readonly into: DriverByVolume; readonly isNew: boolean },
  ): Status | undefined {
    const add = (volume: CsiVolume | undefined) => {
      if (volume !== undefined) into.set(`${volume.driver}/${volume.handle}`, volume.driver);
    };
    for (const volume of pod.spec?.volumes ?? []) {
      add(this.migration.inlineVolume(volume, csiNode));
    }
    for (const { name: claimName, isEphemeral } of usedClaims(pod)) {
      const key = `${namespaceOf(pod)}/${claimName}`;
      const claim = this.claims.get(key);
      if (claim === undefined) {
        if (!isNew) continue;
        return unresolvable(name, `looking up PVC ${key}: ${notFound(claimName)}`);
      }
      const foreign = isEphemeral ? foreignClaim(pod, claim) : undefined;
      if (foreign !== undefined) return errorStatus(name, new Error(foreign));
      add(this.volumeOf(claim, csiNode));
    }
    return undefined;
  }

  /** CSI volume of a claim, or a placeholder for the one that its class will provision. */
  private volumeOf(
    claim: PersistentVolumeClaim,
    csiNode: CsiNode | undefined,
  ): CsiVolume | undefined {
    const volume = this.volumes.get(claim.spec?.volumeName ?? "");
    if (volume !== undefined) return this.migration.csiVolume(volume, csiNode);
    const provisioner = this.classes.get(this.names.classOf(claim))?.provisioner;
    if (provisioner === undefined) return undefined;
    const driver = this.migration.driverOf(provisioner, csiNode);
    const handle = `${this.unmade}-${namespaceOf(claim)}/${claim.metadata.name}`;
    return driver === undefined ? undefined : { driver, handle };
  }

  private *attachedTo(node: string): Iterable<readonly [volume: string, driver: string]> {
    for (const { spec } of this.attachments.get(node)?.values() ?? []) {
      const handle = this.volumes.get(spec.source.persistentVolumeName ?? "")?.spec?.csi
        ?.volumeHandle;
      if (handle !== undefined) yield [`${spec.attacher}/${handle}`, spec.attacher];
    }
  }
}

function hasMigratable({ spec }: Pod, migration: CsiMigration): boolean {
  return (spec?.volumes ?? []).some((volume) => migration.isMigratable(volume));
}

function limitsOf(node: CsiNode | undefined): ReadonlyMap<string, number> {
  const limits = new Map<string, number>();
  for (const { name: driver, allocatable } of node?.spec?.drivers ?? []) {
    if (allocatable?.count !== undefined) limits.set(driver, allocatable.count);
  }
  return limits;
}

function hasMore(before: CsiNode, after: CsiNode): boolean {
  const old = limitsOf(before);
  return [...limitsOf(after)].some(([driver, limit]) => limit > (old.get(driver) ?? 0));
}

function countsOf(volumes: DriverByVolume): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const driver of volumes.values()) counts.set(driver, (counts.get(driver) ?? 0) + 1);
  return counts;
}
