import type { Followed } from "./feed.ts";
import { objectKey } from "./rbac-index.ts";

/** Kinds that nodes may see as far as their pods need them. */
export type NeededKind =
  | "secrets"
  | "configmaps"
  | "persistentvolumeclaims"
  | "persistentvolumes"
  | "serviceaccounts"
  | "volumeattachments"
  | "resourceclaims"
  | "pods";

/** A pod as the graph keeps it. */
interface Placed {
  readonly node: string;
  /** `kind namespace/name` of everything that the pod needs, itself among it. */
  readonly needs: ReadonlySet<string>;
}

interface Volume {
  /** `namespace/name` of the claim; "" while it has none. */
  readonly claim: string;
  /** Secrets for mounting it. */
  readonly secrets: ReadonlySet<string>;
}

/**
 * What each node needs. Example: the pod "p" in "ns" on "n1" mounts the Secret "s" and the claim
 * "c", which the volume "v" is bound to; so "n1" needs the pod, "s", "c", "v", and the Secrets
 * that "v" names.
 */
export class NodeGraph {
  private readonly pods = new Map<string, Placed>();
  /** Need -> node -> number of its pods that have it. */
  private readonly counts = new Map<string, Map<string, number>>();
  private readonly volumes = new Map<string, Volume>();
  private readonly attachments = new Map<string, string>();

  needs(node: string, kind: NeededKind, key: string): boolean {
    if (kind === "volumeattachments") return this.attachments.get(key) === node;
    if (kind === "persistentvolumes") return this.needsVolume(node, this.volumes.get(key));
    if (this.hasPodWith(node, `${kind} ${key}`)) return true;
    if (kind !== "secrets") return false;
    for (const volume of this.volumes.values()) {
      if (volume.secrets.has(key) && this.needsVolume(node, volume)) return true;
    }
    return false;
  }

  /** What is to be followed to know of changes; `storage` is the resolved group of attachments. */
  followed(storage: string): readonly Followed[] {
    return [
      {
        group: "",
        version: "v1",
        plural: "pods",
        kept: {
          set: (pod) => this.setPod(pod),
          delete: (key) => this.deletePod(key),
          keys: () => this.pods.keys(),
        },
      },
      {
        group: "",
        version: "v1",
        plural: "persistentvolumes",
        kept: {
          set: (volume) => this.volumes.set(keyOf(volume), volumeOf(volume)),
          delete: (key) => this.volumes.delete(key),
          keys: () => this.volumes.keys(),
        },
      },
      {
        group: storage,
        version: "v1",
        plural: "volumeattachments",
        kept: {
          set: (object) => this.attachments.set(keyOf(object), object.spec.nodeName),
          delete: (key) => this.attachments.delete(key),
          keys: () => this.attachments.keys(),
        },
      },
    ];
  }

  private needsVolume(node: string, volume: Volume | undefined): boolean {
    if (volume === undefined || volume.claim === "") return false;
    return this.hasPodWith(node, `persistentvolumeclaims ${volume.claim}`);
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
  const { claimRef } = spec;
  const claim = claimRef === undefined ? "" : objectKey(claimRef.namespace, claimRef.name ?? "");
  const secrets = new Set<string>();
  walk(spec, (name, value) => {
    if (!/secret(ref)?$/i.test(name) || typeof value !== "object" || value === null) return;
    const { name: secret, namespace = claimRef?.namespace } = value as any;
    if (typeof secret === "string") secrets.add(objectKey(namespace, secret));
  });
  return { claim, secrets };
}

/** The pod itself and all that it names; a mirror pod names what the node knows already. */
function needsOf({ metadata, spec }: any): ReadonlySet<string> {
  const { namespace, name, annotations = {} } = metadata;
  const needs = new Set<string>();
  const add = (kind: NeededKind, named: unknown) => {
    if (typeof named === "string" && named !== "") {
      needs.add(`${kind} ${objectKey(namespace, named)}`);
    }
  };
  add("pods", name);
  const isMirror = Object.keys(annotations).some((key) => key.endsWith("/config.mirror"));
  if (isMirror) return needs;
  add("serviceaccounts", spec.serviceAccountName);
  for (const { name: secret } of spec.imagePullSecrets ?? []) add("secrets", secret);
  for (const volume of spec.volumes ?? []) {
    add("persistentvolumeclaims", volume.persistentVolumeClaim?.claimName);
    if (volume.ephemeral !== undefined) add("persistentvolumeclaims", `${name}-${volume.name}`);
  }
  for (const { resourceClaimName } of spec.resourceClaims ?? []) {
    add("resourceclaims", resourceClaimName);
  }
  walk(spec, (field, value) => addReference(field, value, add));
  return needs;
}

/** References look alike wherever they stand: in volumes, projections, environments. */
function addReference(
  field: string,
  value: any,
  add: (kind: NeededKind, name: unknown) => void,
): void {
  if (field === "secretName") return add("secrets", value);
  if (typeof value !== "object" || value === null) return;
  if (/^(secretRef|secretKeyRef|nodePublishSecretRef|secret)$/.test(field)) {
    return add("secrets", value.name);
  }
  if (/^(configMapRef|configMapKeyRef|configMap)$/.test(field)) add("configmaps", value.name);
}

function walk(value: unknown, visit: (field: string, value: unknown) => void): void {
  if (typeof value !== "object" || value === null) return;
  for (const [field, inner] of Object.entries(value)) {
    visit(field, inner);
    walk(inner, visit);
  }
}
