import { type Domain, resolve } from "#meta";
import type { FollowedKind } from "../stored-objects.ts";
import { objectKey } from "../rbac/rbac-index.ts";

/** Kinds that a node may read if its pods reference them. */
export type NeededKind =
  | "secrets"
  | "configmaps"
  | "persistentvolumeclaims"
  | "persistentvolumes"
  | "serviceaccounts"
  | "volumeattachments"
  | "resourceclaims"
  | "resourceslices"
  | "podcertificaterequests"
  | "pods";

/** Kinds whose objects name their node. */
const owned = ["volumeattachments", "resourceslices", "podcertificaterequests"] as const;

type OwnedKind = (typeof owned)[number];

/** A pod in the graph. */
interface Placed {
  readonly node: string;
  /** `kind namespace/name` of all objects that the pod references, including itself. */
  readonly needs: ReadonlySet<string>;
}

interface Volume {
  /** `namespace/name` of the bound claim; "" = none. */
  readonly claim: string;
  /** Secrets for mounting the volume. */
  readonly secrets: ReadonlySet<string>;
}

/**
 * Graph of the objects that each node may access. Example: pod "p" in "ns" on "n1" mounts Secret "s" and
 * claim "c", which is bound to volume "v"; so "n1" may access the pod, "s", "c", "v", and the Secrets that
 * "v" references.
 */
export class NodeGraph {
  private readonly pods = new Map<string, Placed>();
  /** Object -> node -> number of pods that reference it. */
  private readonly counts = new Map<string, Map<string, number>>();
  private readonly volumes = new Map<string, Volume>();
  /** Secret -> volumes that use it for mounting. */
  private readonly mounting = new Map<string, Set<string>>();
  /** Object -> its node. */
  private readonly nodes: Readonly<Record<OwnedKind, Map<string, string>>> = {
    volumeattachments: new Map(),
    resourceslices: new Map(),
    podcertificaterequests: new Map(),
  };

  needs(node: string, kind: NeededKind, key: string): boolean {
    const own = owned.find((each) => each === kind);
    if (own !== undefined) return this.nodes[own].get(key) === node;
    if (kind === "persistentvolumes") return this.needsVolume(node, key);
    if (this.hasPodWith(node, `${kind} ${key}`)) return true;
    if (kind !== "secrets") return false;
    const volumes = this.mounting.get(key) ?? [];
    return Array.from(volumes).some((volume) => this.needsVolume(node, volume));
  }

  /** Kinds to watch. */
  followed(domain: Domain): readonly FollowedKind[] {
    const group = (template: string) => resolve(template, domain);
    return [
      {
        group: "",
        version: "v1",
        plural: "pods",
        index: {
          set: (pod) => this.setPod(pod),
          delete: (key) => this.deletePod(key),
          keys: () => this.pods.keys(),
        },
      },
      {
        group: "",
        version: "v1",
        plural: "persistentvolumes",
        index: {
          set: (volume) => this.setVolume(volume),
          delete: (key) => this.deleteVolume(key),
          keys: () => this.volumes.keys(),
        },
      },
      this.followedOwn("volumeattachments", { group: group("storage.{api}"), version: "v1" }),
      this.followedOwn("resourceslices", { group: group("resource.{api}"), version: "v1" }),
      this.followedOwn("podcertificaterequests", {
        group: group("certificates.{api}"),
        version: "v1alpha1",
      }),
    ];
  }

  private followedOwn(
    plural: OwnedKind,
    place: { readonly group: string; readonly version: string },
  ): FollowedKind {
    const nodes = this.nodes[plural];
    const index = {
      set: (object: any) => nodes.set(keyOf(object), object.spec.nodeName ?? ""),
      delete: (key: string) => nodes.delete(key),
      keys: () => nodes.keys(),
    };
    return { ...place, plural, index };
  }

  private setVolume(object: any): void {
    const key = keyOf(object);
    this.deleteVolume(key);
    const volume = volumeOf(object);
    this.volumes.set(key, volume);
    for (const secret of volume.secrets) {
      const volumes = this.mounting.get(secret) ?? new Set<string>();
      this.mounting.set(secret, volumes.add(key));
    }
  }

  private deleteVolume(key: string): void {
    const volume = this.volumes.get(key);
    if (volume === undefined) return;
    this.volumes.delete(key);
    for (const secret of volume.secrets) {
      const volumes = this.mounting.get(secret);
      volumes?.delete(key);
      if (volumes?.size === 0) this.mounting.delete(secret);
    }
  }

  private needsVolume(node: string, key: string): boolean {
    const claim = this.volumes.get(key)?.claim ?? "";
    return claim !== "" && this.hasPodWith(node, `persistentvolumeclaims ${claim}`);
  }

  private hasPodWith(node: string, need: string): boolean {
    return this.counts.get(need)?.has(node) ?? false;
  }

  private setPod(pod: any): void {
    const key = keyOf(pod);
    this.deletePod(key);
    const node: string = pod.spec.nodeName ?? "";
    if (node === "") return;
    const needs = needsOf(pod);
    this.pods.set(key, { node, needs });
    for (const need of needs) {
      const byNode = this.counts.get(need) ?? new Map<string, number>();
      this.counts.set(need, byNode.set(node, (byNode.get(node) ?? 0) + 1));
    }
  }

  private deletePod(key: string): void {
    const placed = this.pods.get(key);
    if (placed === undefined) return;
    this.pods.delete(key);
    for (const need of placed.needs) {
      const byNode = this.counts.get(need);
      const left = (byNode?.get(placed.node) ?? 0) - 1;
      if (left > 0) byNode?.set(placed.node, left);
      else byNode?.delete(placed.node);
      if (byNode?.size === 0) this.counts.delete(need);
    }
  }
}

function keyOf({ metadata }: any): string {
  return objectKey(metadata.namespace, metadata.name);
}

function volumeOf({ spec }: any): Volume {
  const { claimRef, azureFile, csi, ...sources } = spec;
  if (!claimRef) return { claim: "", secrets: new Set() };
  // Controller secrets of a CSI volume are not accessible to nodes.
  const { nodePublishSecretRef, nodeStageSecretRef, nodeExpandSecretRef } = csi ?? {};
  const references: readonly any[] = [
    ...Object.values<any>(sources).map((source) => source?.secretRef),
    { name: azureFile?.secretName, namespace: azureFile?.secretNamespace },
    nodePublishSecretRef,
    nodeStageSecretRef,
    nodeExpandSecretRef,
  ];
  const named = references.filter((reference) => reference?.name);
  const secrets = named.map(({ name, namespace }) =>
    objectKey(namespace || claimRef.namespace, name),
  );
  return { claim: objectKey(claimRef.namespace, claimRef.name ?? ""), secrets: new Set(secrets) };
}

/** The pod itself and all objects that it references; for a mirror pod only itself. */
function needsOf(pod: any): ReadonlySet<string> {
  const { namespace, name, annotations = {} } = pod.metadata;
  const needs = new Set<string>();
  const add: Add = (kind, named) => {
    if (typeof named === "string" && named !== "") {
      needs.add(`${kind} ${objectKey(namespace, named)}`);
    }
  };
  add("pods", name);
  const isMirror = Object.keys(annotations).some((key) => key.endsWith("/config.mirror"));
  if (isMirror) return needs;
  add("serviceaccounts", pod.spec.serviceAccountName);
  for (const { name: secret } of pod.spec.imagePullSecrets ?? []) add("secrets", secret);
  for (const volume of pod.spec.volumes ?? []) addVolume(volume, name, add);
  const { initContainers = [], containers = [], ephemeralContainers = [] } = pod.spec;
  for (const container of [...initContainers, ...containers, ...ephemeralContainers]) {
    addContainer(container, add);
  }
  addClaims(pod, add);
  return needs;
}

type Add = (kind: NeededKind, name: unknown) => void;

function addVolume(volume: any, pod: string, add: Add): void {
  const { secret, configMap, projected, azureFile, csi, ephemeral, persistentVolumeClaim } = volume;
  add("persistentvolumeclaims", persistentVolumeClaim?.claimName);
  if (ephemeral) add("persistentvolumeclaims", `${pod}-${volume.name}`);
  add("configmaps", configMap?.name);
  for (const source of projected?.sources ?? []) {
    add("secrets", source.secret?.name);
    add("configmaps", source.configMap?.name);
  }
  add("secrets", secret?.secretName);
  add("secrets", azureFile?.secretName);
  add("secrets", csi?.nodePublishSecretRef?.name);
  // All other volume types use `secretRef`.
  for (const source of Object.values<any>(volume)) add("secrets", source?.secretRef?.name);
}

function addContainer({ env, envFrom }: any, add: Add): void {
  for (const { valueFrom } of env ?? []) {
    add("secrets", valueFrom?.secretKeyRef?.name);
    add("configmaps", valueFrom?.configMapKeyRef?.name);
  }
  for (const { secretRef, configMapRef } of envFrom ?? []) {
    add("secrets", secretRef?.name);
    add("configmaps", configMapRef?.name);
  }
}

/** ResourceClaims: by name, from templates, and for extended resources. */
function addClaims({ spec, status = {} }: any, add: Add): void {
  const made = new Map<string, string>();
  for (const { name, resourceClaimName } of status.resourceClaimStatuses ?? []) {
    made.set(name, resourceClaimName);
  }
  for (const { name, resourceClaimName } of spec.resourceClaims ?? []) {
    add("resourceclaims", resourceClaimName ?? made.get(name));
  }
  add("resourceclaims", status.extendedResourceClaimStatus?.resourceClaimName);
}
