/** Finds volumes for the claims of a pod per node. */
import {
  type CsiNode,
  csiNodes,
  namespaceOf,
  type Node,
  type NodeSelectorTerm,
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
  type Pod,
  type StorageClass,
  storageClasses,
  matchesTerms,
} from "#kinds";
import { type Informer, objectKey } from "#client";
import { Quantity, resolve } from "#meta";
import { type MatchingVolumes, matchingVolumes, reservedFor, VolumeNames } from "#volumes";
import { AssumeCache } from "../../cache/assume-cache.ts";
import type { PluginHandle } from "../../framework/handle.ts";
import { CsiMigration } from "../helper/csi-migration.ts";
import { foreignClaim, usedClaims } from "../helper/pod-claims.ts";
import { StorageCapacity } from "./storage-capacity.ts";

/** A claim with WaitForFirstConsumer, and its matching volumes. */
interface DelayedClaim extends MatchingVolumes {
  readonly claim: PersistentVolumeClaim;
}

/** Claims of a pod by binding state. */
export interface PodClaims {
  readonly bound: readonly PersistentVolumeClaim[];
  /** To be bound or provisioned for the selected node; smallest first. */
  readonly delayed: readonly DelayedClaim[];
  /** Unbound claims with immediate binding: the pod must wait. */
  readonly immediate: readonly PersistentVolumeClaim[];
}

export interface VolumeReservation {
  readonly volume: PersistentVolume;
  readonly claim: PersistentVolumeClaim;
}

/** Bindings and provisionings of a pod's claims on a node. */
export interface PodVolumes {
  readonly bindings: readonly VolumeReservation[];
  readonly provisions: readonly PersistentVolumeClaim[];
}

const reasons = {
  nodeConflict: "node(s) didn't match PersistentVolume's node affinity",
  noVolume: "node(s) didn't find available persistent volumes to bind",
  noSpace: "node(s) did not have enough free storage",
  noPersistentVolume: "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
} as const;

/** Finds volumes for pods, excluding those assumed for other pods. */
export class PodVolumeFinder {
  readonly claims: AssumeCache<PersistentVolumeClaim>;
  readonly volumes: AssumeCache<PersistentVolume>;
  readonly names: VolumeNames;
  readonly migration: CsiMigration;
  private readonly classes: Informer<StorageClass>;
  private readonly csiNodes: Informer<CsiNode>;
  private readonly capacity: StorageCapacity;
  private readonly noProvisioner: string;

  constructor(handle: PluginHandle) {
    const { informers, domain } = handle;
    this.claims = new AssumeCache(informers.of(persistentVolumeClaims));
    this.volumes = new AssumeCache(informers.of(persistentVolumes));
    this.classes = informers.of(storageClasses(domain));
    this.csiNodes = informers.of(csiNodes(domain));
    this.names = new VolumeNames(domain);
    this.migration = new CsiMigration(domain);
    this.capacity = new StorageCapacity(handle);
    this.noProvisioner = resolve("{label}/no-provisioner", domain);
  }

  /** Classifies the claims. @throws for a class without a binding mode, and another pod's claim */
  claimsOf(pod: Pod): PodClaims {
    const bound: PersistentVolumeClaim[] = [];
    const delayed: DelayedClaim[] = [];
    const immediate: PersistentVolumeClaim[] = [];
    for (const { name, isEphemeral } of usedClaims(pod)) {
      const key = `${namespaceOf(pod)}/${name}`;
      const claim = this.claims.get(key);
      if (claim === undefined) throw new Error(`error getting PVC "${key}"`);
      const foreign = isEphemeral ? foreignClaim(pod, claim) : undefined;
      if (foreign !== undefined) throw new Error(foreign);
      if (this.isBound(claim)) bound.push(claim);
      else if (claim.spec?.volumeName || !this.isDelayed(claim)) immediate.push(claim);
      else {
        const matching = matchingVolumes(claim, this.volumes.all(), this.names);
        delayed.push({ claim, ...matching });
      }
    }
    return { bound, delayed: delayed.toSorted(bySize), immediate };
  }

  /** Whether the claim is fully bound. */
  isBound({ spec, metadata }: PersistentVolumeClaim): boolean {
    return !!spec?.volumeName && metadata.annotations?.[this.names.bindCompleted] !== undefined;
  }

  /** Volumes for the pod on the node, or the reasons why there are none. */
  find({ bound, delayed }: PodClaims, node: Node): PodVolumes | readonly string[] {
    const conflict = this.conflictOf(bound, node);
    const found = this.findDelayed(delayed, node);
    if (conflict === undefined && typeof found !== "string") return found;
    const order = Object.values(reasons);
    const told = [conflict, typeof found === "string" ? found : undefined];
    return order.filter((reason) => told.includes(reason));
  }

  isReachable(volume: PersistentVolume, node: Node): boolean {
    const terms = this.migration.affinityTerms(volume, this.csiNodes.get(node.metadata.name));
    return terms === undefined || matchesTerms(terms, node);
  }

  /** Assumes the volumes and claims; returns them as they will be written. */
  assume({ bindings, provisions }: PodVolumes, node: string): PodVolumes {
    const assumed: { bindings: VolumeReservation[]; provisions: PersistentVolumeClaim[] } = {
      bindings: [],
      provisions: [],
    };
    try {
      for (const { volume, claim } of bindings) {
        const draft = reservedFor(volume, claim, this.names);
        if (draft !== undefined) this.volumes.assume(draft);
        assumed.bindings.push({ volume: draft ?? volume, claim });
      }
      for (const claim of provisions) {
        const { metadata } = claim;
        const annotations = { ...metadata.annotations, [this.names.selectedNode]: node };
        const draft = { ...claim, metadata: { ...metadata, annotations } };
        this.claims.assume(draft);
        assumed.provisions.push(draft);
      }
    } catch (error) {
      this.revert(assumed);
      throw error;
    }
    return assumed;
  }

  revert({ bindings, provisions }: PodVolumes): void {
    for (const { volume } of bindings) this.volumes.restore(volume.metadata.name);
    for (const claim of provisions) this.claims.restore(objectKey(claim));
  }

  private isDelayed(claim: PersistentVolumeClaim): boolean {
    const className = this.names.classOf(claim);
    const found = this.classes.get(className);
    if (className === "" || found === undefined) return false;
    if (found.volumeBindingMode !== undefined) {
      return found.volumeBindingMode === "WaitForFirstConsumer";
    }
    throw new Error(`VolumeBindingMode not set for StorageClass ${JSON.stringify(className)}`);
  }

  private conflictOf(claims: readonly PersistentVolumeClaim[], node: Node): string | undefined {
    for (const { spec } of claims) {
      const volume = this.volumes.get(spec?.volumeName ?? "");
      if (volume === undefined) return reasons.noPersistentVolume;
      if (!this.isReachable(volume, node)) return reasons.nodeConflict;
    }
    return undefined;
  }

  private findDelayed(delayed: readonly DelayedClaim[], node: Node): PodVolumes | string {
    const bindings: VolumeReservation[] = [];
    const provisions: PersistentVolumeClaim[] = [];
    const unmatched: PersistentVolumeClaim[] = [];
    const taken = new Set<string>();
    for (const { claim, reserved, free } of delayed) {
      const selected = claim.metadata.annotations?.[this.names.selectedNode];
      if (selected !== undefined) {
        if (selected !== node.metadata.name) return reasons.noVolume;
        provisions.push(claim);
        continue;
      }
      const isLeft = ({ metadata }: PersistentVolume) => !taken.has(metadata.name);
      const own = reserved.find(isLeft);
      const volume = (own === undefined ? free : [own]).find(
        (each) => isLeft(each) && this.isReachable(each, node),
      );
      if (volume === undefined) unmatched.push(claim);
      else {
        taken.add(volume.metadata.name);
        bindings.push({ volume, claim });
      }
    }
    provisions.push(...unmatched);
    for (const claim of provisions) {
      const refusal = this.provisioningRefusal(claim, node);
      if (refusal !== undefined) return refusal;
    }
    return { bindings, provisions };
  }

  /** Reason why the claim cannot be provisioned. @throws if its class does not exist */
  private provisioningRefusal(claim: PersistentVolumeClaim, node: Node): string | undefined {
    const className = this.names.classOf(claim);
    if (className === "") throw new Error(`no class for claim "${objectKey(claim)}"`);
    const found = this.classes.get(className);
    if (found === undefined) throw new Error(`failed to find storage class "${className}"`);
    const { provisioner: driver } = found;
    if (driver === "" || driver === this.noProvisioner) return reasons.noVolume;
    const terms = topologyTerms(found);
    if (terms.length > 0 && !matchesTerms(terms, node)) return reasons.noVolume;
    return this.capacity.suffices(claim, { className, driver }, node) ? undefined : reasons.noSpace;
  }
}

/** `allowedTopologies` of a class as node selector terms. */
function topologyTerms({ allowedTopologies = [] }: StorageClass): readonly NodeSelectorTerm[] {
  return allowedTopologies.map(({ matchLabelExpressions = [] }) => ({
    matchExpressions: matchLabelExpressions.map((each) => ({ ...each, operator: "In" })),
  }));
}

function bySize(a: DelayedClaim, b: DelayedClaim): number {
  const [left, right] = [a, b].map(({ claim }) =>
    Quantity.parse(claim.spec?.resources?.requests?.["storage"] ?? "0"),
  );
  return left!.compare(right!);
}
