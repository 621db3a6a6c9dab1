import { deepEqual } from "#base";
import {
  namespaceOf,
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
  type Pod,
  type StorageClass,
  storageClasses,
} from "#kinds";
import { resolve } from "#meta";
import { VolumeNames } from "#volumes";
import { actions, type EventRegistration } from "../framework/cluster-events.ts";
import type { Plugin } from "../framework/contract.ts";
import type { PluginHandle } from "../framework/handle.ts";
import { skip, type Status, unresolvable } from "../framework/status.ts";
import { zonesIn } from "./helper/csi-migration.ts";
import { notFound, sharedClaims } from "./helper/pod-claims.ts";

const name = "VolumeZone";
const conflict = unresolvable(name, "node(s) had no available volume zone");

/** Values of a topology label of a volume. */
interface Topology {
  readonly key: string;
  readonly values: readonly string[];
}

/** VolumeZone: rejects nodes outside the zones and regions in the labels of the pod's volumes. */
export function volumeZone(handle: PluginHandle): Plugin {
  const { domain, informers } = handle;
  const label = (template: string) => resolve(template, domain);
  /** Topology labels of volumes; value = label to match if a node lacks the key. */
  const labels: ReadonlyMap<string, string> = new Map([
    [label("failure-domain.beta.{label}/zone"), label("topology.{label}/zone")],
    [label("failure-domain.beta.{label}/region"), label("topology.{label}/region")],
    [label("topology.{label}/zone"), label("topology.{label}/zone")],
    [label("topology.{label}/region"), label("topology.{label}/region")],
  ]);
  const topologiesOf = (volume: PersistentVolume): readonly Topology[] =>
    [...labels.keys()].flatMap((key) => {
      const value = volume.metadata.labels?.[key];
      return value === undefined ? [] : [{ key, values: zonesIn(value) }];
    });
  const volumeOf = volumeLookup(handle);
  informers.of(persistentVolumeClaims);
  return {
    name,
    preFilter: ({ pod, state }) => {
      const topologies: Topology[] = [];
      for (const claimName of sharedClaims(pod)) {
        const found = volumeOf(pod, claimName);
        if (found === undefined) continue;
        if ("code" in found) return { status: found };
        topologies.push(...topologiesOf(found));
      }
      if (topologies.length === 0) return { status: skip };
      state.write(name, topologies);
      return undefined;
    },
    filter: ({ state }, { labels: ofNode }) => {
      if (![...labels.keys()].some((key) => Object.hasOwn(ofNode, key))) return undefined;
      const fits = ({ key, values }: Topology) => {
        const value = ofNode[key] ?? ofNode[labels.get(key)!];
        return value !== undefined && values.includes(value);
      };
      return state.read<readonly Topology[]>(name)!.every(fits) ? undefined : conflict;
    },
    events: eventsOf(topologiesOf),
  };
}

function eventsOf(
  topologiesOf: (volume: PersistentVolume) => readonly Topology[],
): readonly EventRegistration[] {
  return [
    {
      resource: "StorageClass",
      action: actions.add,
      hint: (_pod, { after }) => isDelayed(after as StorageClass),
    },
    { resource: "Node", action: actions.add | actions.updateNodeLabel },
    {
      resource: "PersistentVolumeClaim",
      action: actions.add | actions.update,
      hint: (pod, { after }) => uses(pod, after as PersistentVolumeClaim),
    },
    {
      resource: "PersistentVolume",
      action: actions.add | actions.update,
      hint: (_pod, { before, after }) =>
        before === undefined ||
        !deepEqual(
          topologiesOf(before as PersistentVolume),
          topologiesOf(after as PersistentVolume),
        ),
    },
  ];
}

/** Looks up the volume of a claim; undefined = the claim waits for its first consumer. */
function volumeLookup({ informers, domain }: PluginHandle) {
  const claims = informers.of(persistentVolumeClaims);
  const volumes = informers.of(persistentVolumes);
  const classHandle = storageClasses(domain);
  const classes = informers.of(classHandle);
  const names = new VolumeNames(domain);
  return (pod: Pod, claimName: string): PersistentVolume | Status | undefined => {
    if (claimName === "") return unresolvable(name, "PersistentVolumeClaim had no name");
    const claim = claims.get(`${namespaceOf(pod)}/${claimName}`);
    if (claim === undefined) return unresolvable(name, notFound(claimName));
    const { volumeName } = claim.spec ?? {};
    if (volumeName) {
      const quoted = JSON.stringify(volumeName);
      return volumes.get(volumeName) ?? unresolvable(name, `persistentvolume ${quoted} not found`);
    }
    const className = names.classOf(claim);
    if (className === "") {
      const reason = "PersistentVolumeClaim had no pv name and storageClass name";
      return unresolvable(name, reason);
    }
    const found = classes.get(className);
    const quoted = JSON.stringify(className);
    if (found === undefined) {
      return unresolvable(name, `storageclass.${classHandle.group} ${quoted} not found`);
    }
    if (found.volumeBindingMode === undefined) {
      return unresolvable(name, `VolumeBindingMode not set for StorageClass ${quoted}`);
    }
    return isDelayed(found) ? undefined : unresolvable(name, "PersistentVolume had no name");
  };
}

function isDelayed({ volumeBindingMode }: StorageClass): boolean {
  return volumeBindingMode === "WaitForFirstConsumer";
}

function uses(pod: Pod, claim: PersistentVolumeClaim): boolean {
  const isSame = namespaceOf(pod) === namespaceOf(claim);
  return isSame && sharedClaims(pod).includes(claim.metadata.name);
}
