/** Mirror pods: API objects that represent the static pods of a node. */
import { printJson } from "#base";
import type { Draft } from "#client";
import { type Node, nodes, type Pod, type Toleration } from "#kinds";
import { type Domain, resolve } from "#meta";
import { staticPodUid } from "../identifiers.ts";
import type { Manifest } from "./manifest-folder.ts";

/** A pod that a node runs from a manifest file. */
export interface StaticPod {
  /** UID of the pod on its node: hash of the manifest. A changed manifest is another pod. */
  readonly uid: string;
  readonly node: string;
  /** Time in ms at which the node first read the manifest. */
  readonly seenAt: number;
  readonly manifest: Manifest;
}

/** Annotations of static pods and their mirrors. */
export interface StaticPodNames {
  readonly hash: string;
  readonly mirror: string;
  readonly seen: string;
  readonly source: string;
}

export function staticPodNames(domain: Domain): StaticPodNames {
  return {
    hash: resolve("{label}/config.hash", domain),
    mirror: resolve("{label}/config.mirror", domain),
    seen: resolve("{label}/config.seen", domain),
    source: resolve("{label}/config.source", domain),
  };
}

/** `namespace/name` of the mirror pod; its name has the node's name as suffix. */
export function mirrorKey({ pod: { metadata } }: Manifest, node: string): string {
  return `${metadata.namespace || "default"}/${metadata.name}-${node.toLowerCase()}`;
}

export function staticPodOf(manifest: Manifest, node: string, seenAt: number): StaticPod {
  const { metadata, spec } = manifest.pod;
  const uid = staticPodUid(printJson([metadata, spec]), node, manifest.file);
  return { uid, node, seenAt, manifest };
}

/** Mirror pod of a static pod, like the kubelet's. */
export function mirrorOf(
  { uid, seenAt, manifest }: StaticPod,
  node: Node,
  names: StaticPodNames,
): Draft<Pod> {
  const { metadata, spec } = manifest.pod;
  const [namespace = "", name = ""] = mirrorKey(manifest, node.metadata.name).split("/");
  const { kind, version: apiVersion } = nodes;
  const owner = { apiVersion, kind, name: node.metadata.name, uid: node.metadata.uid };
  return {
    metadata: {
      name,
      namespace,
      ...(metadata.labels === undefined ? {} : { labels: metadata.labels }),
      annotations: {
        ...metadata.annotations,
        [names.hash]: uid,
        [names.mirror]: uid,
        [names.seen]: new Date(seenAt).toISOString(),
        [names.source]: "file",
      },
      ownerReferences: [{ ...owner, controller: true }],
    },
    spec: {
      ...spec,
      nodeName: node.metadata.name,
      tolerations: withNoExecute(spec?.tolerations ?? []),
    },
  };
}

/** Adds the toleration of all NoExecute taints, which static pods have. */
function withNoExecute(tolerations: readonly Toleration[]): readonly Toleration[] {
  const isThere = tolerations.some(
    ({ key, operator, effect }) =>
      key === undefined && operator === "Exists" && effect === "NoExecute",
  );
  return isThere ? tolerations : [...tolerations, { operator: "Exists", effect: "NoExecute" }];
}
