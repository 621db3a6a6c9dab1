import type { Client } from "#client";
import { type CsiNodeDriver, csiNodes, type Node, nodes } from "#kinds";
import { type Domain, isAlreadyExists, resolve } from "#meta";
import { driverName } from "../storage/driver.ts";
import { topologyKey } from "../storage/topology.ts";

/** Attach limit of the simulated driver per node. */
const maxVolumes = 128;
/** Zone of nodes without a zone label. */
const defaultZone = "default";
/** In-tree volume plugins that were migrated to CSI. */
const migratedPlugins = [
  "aws-ebs",
  "azure-disk",
  "azure-file",
  "cinder",
  "gce-pd",
  "portworx-volume",
  "vsphere-volume",
];

/** Topology labels that the registration of the simulated driver adds to a node with these labels. */
export function topologyLabels(
  labels: Readonly<Record<string, string>>,
  domain: Domain,
): Readonly<Record<string, string>> {
  return { [topologyKey]: labels[resolve("topology.{label}/zone", domain)] ?? defaultZone };
}

/** Annotations that the registration of the simulated driver adds to a node. */
export function driverAnnotations(node: string, domain: Domain): Readonly<Record<string, string>> {
  const ids = JSON.stringify({ [driverName]: node });
  return { [resolve("csi.volume.{label}/nodeid", domain)]: ids };
}

/**
 * Registers the simulated driver in the CSINode of a node; creates a missing CSINode, keeps other drivers.
 */
export async function registerDriver(client: Client, { metadata }: Node): Promise<void> {
  const { name, uid } = metadata;
  const resource = csiNodes(client.domain);
  const driver: CsiNodeDriver = {
    name: driverName,
    nodeID: name,
    topologyKeys: [topologyKey],
    allocatable: { count: maxVolumes },
  };
  const owner = { apiVersion: nodes.version, kind: nodes.kind, name, uid };
  const plugins = migratedPlugins.map((each) => resolve(`{label}/${each}`, client.domain));
  const annotation = resolve("storage.alpha.{label}/migrated-plugins", client.domain);
  const draft = {
    metadata: {
      name,
      annotations: { [annotation]: plugins.join(",") },
      ownerReferences: [owner],
    },
    spec: { drivers: [driver] },
  };
  try {
    await client.create(resource, draft);
    return;
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
  const present = await client.get(resource, { name });
  const isStale = present.metadata.ownerReferences?.some((each) => each.uid !== uid) === true;
  if (isStale) {
    // It belongs to an earlier Node of this name.
    await client.delete(resource, { name }, { preconditions: { uid: present.metadata.uid } });
    await client.create(resource, draft);
    return;
  }
  const others = (present.spec?.drivers ?? []).filter((each) => each.name !== driverName);
  if (present.spec?.drivers?.some((each) => each.name === driverName) === true) return;
  await client.update(resource, { ...present, spec: { drivers: [...others, driver] } });
}
