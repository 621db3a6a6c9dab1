import { type Domain, resolve } from "#meta";
import type { FollowedKind } from "../stored-objects.ts";
import { objectKey } from "../rbac/rbac-index.ts";

/** Kinds whose objects a node may access if a pod on it references them, or if they name the node. */
export type ReferencedKind =
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

/** Kinds whose objects name their node in `spec.nodeName`. */
const nodeBoundKinds = ["volumeattachments", "resourceslices", "podcertificaterequests"] as const;

type NodeBoundKind = (typeof nodeBoundKinds)[number];

/** A pod that is bound to a node. */
interface BoundPod {
  readonly node: string;
  /** `kind namespace/name` of all objects that the pod references, including itself. */
  readonly references: ReadonlySet<string>;
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
  private readonly pods = new Map<string, BoundPod>();
  /** Object -> node -> number of pods that reference it. */
  private readonly podCounts = new Map<string, Map<string, number>>();
  private readonly volumes = new Map<string, Volume>();
  /** Secret -> volumes that use it for mounting. */
  private readonly volumesBySecret = new Map<string, Set<string>>();
  /** Object -> its node. */
  private readonly nodes: Readonly<Record<NodeBoundKind, Map<string, string>>> = {
    volumeattachments: new Map(),
    resourceslices: new Map(),
    podcertificaterequests: new Map(),
  };

  /** Whether the node may access the object with this key (`namespace/name`). */
  mayAccess(node: string, kind: ReferencedKind, key: string): boolean {
    const nodeBound = nodeBoundKinds.find((each) => each === kind);
    if (nodeBound !== undefined) return this.nodes[nodeBound].get(key) === node;
    if (kind === "persistentvolumes") return this.usesVolume(node, key);
    if (this.hasPodWith(node, `${kind} ${key}`)) return true;
    if (kind !== "secrets") return false;
    const volumes = this.volumesBySecret.get(key) ?? [];
    return Array.from(volumes).some((volume) => this.usesVolume(node, volume));
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
      this.followNodeBound("volumeattachments", { group: group("storage.{api}"), version: "v1" }),
      this.followNodeBound("resourceslices", { group: group("resource.{api}"), version: "v1" }),
      this.followNodeBound("podcertificaterequests", {
        group: group("certificates.{api}"),
        version: "v1alpha1",
      }),
    ];
  }

  private followNodeBound(
    plural: NodeBoundKind,
    groupVersion: { readonly group: string; readonly version: string },
  ): FollowedKind {
    const nodes = this.nodes[plural];
    const index = {
      set: (object: any) => nodes.set(keyOf(object), object.spec.nodeName ?? ""),
      delete: (key: string) => nodes.delete(key),
      keys: () => nodes.keys(),
    };
    return { ...groupVersion, plural, index };
  }

  private setVolume(object: any): void {
    const key = keyOf(object);
    this.deleteVolume(key);
    const volume = volumeOf(object);
    this.volumes.set(key, volume);
    for (const secret of volume.secrets) {
      const volumes = this.volumesBySecret.get(secret) ?? new Set<string>();
      this.volumesBySecret.set(secret, volumes.add(key));
    }
  }

  private deleteVolume(key: string): void {
    const volume = this.volumes.get(key);
    if (volume === undefined) return;
    this.volumes.delete(key);
    for (const secret of volume.secrets) {
      const volumes = this.volumesBySecret.get(secret);
      volumes?.delete(key);
      if (volumes?.size === 0) this.volumesBySecret.delete(secret);
    }
  }

  private usesVolume(node: string, key: string): boolean {
    const claim = this.volumes.get(key)?.claim ?? "";
    return claim !== "" && this.hasPodWith(node, `persistentvolumeclaims ${claim}`);
  }

  private hasPodWith(node: string, reference: string): boolean {
    return this.podCounts.get(reference)?.has(node) ?? false;
  }

  private setPod(pod: any): void {
    const key = keyOf(pod);
    this.deletePod(key);
    const node: string = pod.spec.nodeName ?? "";
    if (node === "") return;
    const references = referencesOf(pod);
    this.pods.set(key, { node, references });
    for (const reference of references) {
      const byNode = this.podCounts.get(reference) ?? new Map<string, number>();
      this.podCounts.set(reference, byNode.set(node, (byNode.get(node) ?? 0) + 1));
    }
  }

  private deletePod(key: string): void {
    const pod = this.pods.get(key);
    if (pod === undefined) return;
    this.pods.delete(key);
    for (const reference of pod.references) {
      const byNode = this.podCounts.get(reference);
      const count = (byNode?.get(pod.node) ?? 0) - 1;
      if (count > 0) byNode?.set(pod.node, count);
      else byNode?.delete(pod.node);
      if (byNode?.size === 0) this.podCounts.delete(reference);
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
function referencesOf(pod: any): ReadonlySet<string> {
  const { namespace, name, annotations = {} } = pod.metadata;
  const references = new Set<string>();
  const add: Add = (kind, referenced) => {
    if (typeof referenced === "string" && referenced !== "") {
      references.add(`${kind} ${objectKey(namespace, referenced)}`);
    }
  };
  add("pods", name);
  const isMirror = Object.keys(annotations).some((key) => key.endsWith("/config.mirror"));
  if (isMirror) return references;
  add("serviceaccounts", pod.spec.serviceAccountName);
  for (const { name: secret } of pod.spec.imagePullSecrets ?? []) add("secrets", secret);
  for (const volume of pod.spec.volumes ?? []) addVolume(volume, name, add);
  const { initContainers = [], containers = [], ephemeralContainers = [] } = pod.spec;
  for (const container of [...initContainers, ...containers, ...ephemeralContainers]) {
    addContainer(container, add);
  }
  addClaims(pod, add);
  return references;
}

/** Adds a reference to an object in the pod's namespace, unless the name is absent. */
type Add = (kind: ReferencedKind, name: unknown) => void;

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
  const generated = new Map<string, string>();
  for (const { name, resourceClaimName } of status.resourceClaimStatuses ?? []) {
    generated.set(name, resourceClaimName);
  }
  for (const { name, resourceClaimName } of spec.resourceClaims ?? []) {
    add("resourceclaims", resourceClaimName ?? generated.get(name));
  }
  add("resourceclaims", status.extendedResourceClaimStatus?.resourceClaimName);
}
