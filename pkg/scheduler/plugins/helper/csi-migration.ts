/** CSI migration: translates volumes of in-tree plugins to their CSI drivers. */
import {
  type CsiNode,
  labelsOf,
  type NodeSelectorTerm,
  type PersistentVolume,
  type Volume,
} from "#kinds";
import { type Domain, resolve } from "#meta";

/** A volume of a CSI driver. */
export interface CsiVolume {
  readonly driver: string;
  readonly handle: string;
}

interface MigratedPlugin {
  /** Name of the in-tree plugin after `{label}/`. */
  readonly name: string;
  readonly driver: string;
  /** Topology label of the driver; absent = none. */
  readonly topologyKey?: string;
  /** Whether the CSINode lists the plugin in the annotation `migrated-plugins`. */
  readonly isAnnounced?: boolean;
  readonly idOf: (source: PersistentVolume["spec"] | Volume) => string | undefined;
}

const plugins: readonly MigratedPlugin[] = [
  {
    name: "aws-ebs",
    driver: "ebs.csi.aws.com",
    topologyKey: "topology.ebs.csi.aws.com/zone",
    idOf: (source) => source?.awsElasticBlockStore?.volumeID.replace(/^aws:\/\/[^/]*\/+/, ""),
  },
  {
    name: "gce-pd",
    driver: "pd.csi.storage.gke.io",
    topologyKey: "topology.gke.io/zone",
    idOf: (source) => source?.gcePersistentDisk?.pdName,
  },
  {
    name: "azure-disk",
    driver: "disk.csi.azure.com",
    topologyKey: "topology.disk.csi.azure.com/zone",
    idOf: (source) => source?.azureDisk?.diskURI,
  },
  {
    name: "cinder",
    driver: "cinder.csi.openstack.org",
    topologyKey: "topology.cinder.csi.openstack.org/zone",
    idOf: (source) => source?.cinder?.volumeID,
  },
  {
    name: "portworx-volume",
    driver: "pxd.portworx.com",
    isAnnounced: true,
    idOf: (source) => source?.portworxVolume?.volumeID,
  },
];

export class CsiMigration {
  private readonly prefix: string;
  private readonly annotation: string;
  /** Zone labels, the stable one first. */
  private readonly zones: readonly [string, string];

  constructor(domain: Domain) {
    this.prefix = resolve("{label}/", domain);
    this.annotation = resolve("storage.alpha.{label}/migrated-plugins", domain);
    this.zones = [
      resolve("topology.{label}/zone", domain),
      resolve("failure-domain.beta.{label}/zone", domain),
    ];
  }

  isMigratable(source: PersistentVolume["spec"] | Volume): boolean {
    return pluginOf(source) !== undefined;
  }

  /** Whether an inline volume belongs to the driver if its plugin is migrated. */
  isOfDriver(volume: Volume, driver: string): boolean {
    return pluginOf(volume)?.driver === driver;
  }

  /** CSI volume of a PersistentVolume on the node; undefined = not a CSI volume there. */
  csiVolume({ spec, metadata }: PersistentVolume, node: CsiNode | undefined) {
    const { csi } = spec ?? {};
    if (csi !== undefined) return { driver: csi.driver, handle: csi.volumeHandle };
    const labels = metadata.labels ?? {};
    const zones = labels[this.zones[1]] || labels[this.zones[0]] || "";
    return this.migrated(spec, node, zones);
  }

  /** Like `csiVolume`, for an inline volume. */
  inlineVolume(volume: Volume, node: CsiNode | undefined): CsiVolume | undefined {
    return this.migrated(volume, node, "");
  }

  /** CSI driver of a provisioner on the node; undefined = none. */
  driverOf(provisioner: string, node: CsiNode | undefined): string | undefined {
    const plugin = plugins.find(({ name }) => `${this.prefix}${name}` === provisioner);
    if (plugin === undefined) return provisioner;
    return this.isOn(plugin, node) ? plugin.driver : undefined;
  }

  /**
   * Node affinity terms of the volume on the node; zones of a migrated plugin are translated to the topology
   * label of its driver.
   */
  affinityTerms(
    { spec, metadata }: PersistentVolume,
    node: CsiNode | undefined,
  ): readonly NodeSelectorTerm[] | undefined {
    const terms = spec?.nodeAffinity?.required?.nodeSelectorTerms;
    const plugin = pluginOf(spec);
    const key = plugin?.topologyKey;
    if (key === undefined || !this.announces(node, plugin!)) return terms;
    const uses = (label: string) =>
      terms?.some(({ matchExpressions = [] }) => matchExpressions.some((m) => m.key === label));
    const inTerms = this.zones.find(uses);
    if (inTerms !== undefined) return terms!.map((term) => renamed(term, inTerms, key));
    const labels = labelsOf({ metadata });
    const value = this.zones.map((label) => labels[label]).find((each) => each !== undefined);
    const values = zonesIn(value ?? "");
    if (values.length === 0) return terms;
    const zone = { key, operator: "In", values };
    return (terms?.length ? terms : [{}]).map((term) => ({
      ...term,
      matchExpressions: [...(term.matchExpressions ?? []), zone],
    }));
  }

  /** Whether the migrated plugins of the node have changed. */
  hasChanged(before: CsiNode, after: CsiNode): boolean {
    const [old, now] = [before, after].map(
      ({ metadata }) => metadata.annotations?.[this.annotation] ?? "",
    );
    return old !== now;
  }

  private migrated(
    source: PersistentVolume["spec"] | Volume,
    node: CsiNode | undefined,
    zones: string,
  ): CsiVolume | undefined {
    const plugin = pluginOf(source);
    if (plugin === undefined || !this.isOn(plugin, node)) return undefined;
    const { driver, name } = plugin;
    const id = plugin.idOf(source)!;
    return { driver, handle: name === "gce-pd" ? gceHandle(id, zonesIn(zones)) : id };
  }

  private isOn(plugin: MigratedPlugin, node: CsiNode | undefined): boolean {
    return node !== undefined && (plugin.isAnnounced !== true || this.announces(node, plugin));
  }

  private announces(node: CsiNode | undefined, { name }: MigratedPlugin): boolean {
    const announced = node?.metadata.annotations?.[this.annotation] ?? "";
    return announced.split(",").includes(`${this.prefix}${name}`);
  }
}

/** Zones in a volume label, `__`-separated. */
export function zonesIn(label: string): readonly string[] {
  const zones = label.split("__").map((zone) => zone.trim());
  return zones.filter((zone) => zone !== "");
}

function pluginOf(source: PersistentVolume["spec"] | Volume): MigratedPlugin | undefined {
  return plugins.find(({ idOf }) => idOf(source) !== undefined);
}

function renamed(term: NodeSelectorTerm, from: string, to: string): NodeSelectorTerm {
  const matchExpressions = (term.matchExpressions ?? []).map((each) =>
    each.key === from ? { ...each, key: to } : each,
  );
  return { ...term, matchExpressions };
}

/** Volume handle of a GCE persistent disk: zonal, or regional with several zones. */
function gceHandle(name: string, zones: readonly string[]): string {
  const [first = "UNSPECIFIED"] = zones;
  const place =
    zones.length > 1 ? `regions/${first.slice(0, first.lastIndexOf("-"))}` : `zones/${first}`;
  return `projects/UNSPECIFIED/${place}/disks/${name}`;
}
