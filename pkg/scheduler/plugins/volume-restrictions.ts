import { namespaceOf, type PersistentVolumeClaim, persistentVolumeClaims } from "#kinds";
import type { Pod, Volume } from "#kinds";
import { actions } from "../framework/cluster-events.ts";
import type { Plugin } from "../framework/contract.ts";
import type { PluginHandle } from "../framework/handle.ts";
import { skip, unresolvable, unschedulable } from "../framework/status.ts";
import { notFound, sharedClaims } from "./helper/pod-claims.ts";

const name = "VolumeRestrictions";
const diskConflict = unschedulable(name, "node(s) had no available disk");
const claimConflict = unschedulable(
  name,
  "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already " +
    "in-use by another pod",
);

/** ReadWriteOncePod claims of a pod, with their number of users. */
class ClaimUse {
  constructor(
    readonly claims: ReadonlySet<string>,
    public count: number,
  ) {}

  copy(): ClaimUse {
    return new ClaimUse(this.claims, this.count);
  }

  add(pod: Pod, sign: 1 | -1): void {
    for (const claim of sharedClaims(pod)) if (this.claims.has(claim)) this.count += sign;
  }
}

/** VolumeRestrictions: rejects nodes on which a disk is in use, and claims in use with ReadWriteOncePod. */
export function volumeRestrictions({ informers, snapshot }: PluginHandle): Plugin {
  const claims = informers.of(persistentVolumeClaims);
  return {
    name,
    preFilter: ({ pod, state }) => {
      const exclusive = new Set<string>();
      for (const claimName of sharedClaims(pod)) {
        const claim = claims.get(`${namespaceOf(pod)}/${claimName}`);
        if (claim === undefined) return { status: unresolvable(name, notFound(claimName)) };
        if (claim.spec?.accessModes?.includes("ReadWriteOncePod")) exclusive.add(claimName);
      }
      const keys = [...exclusive].map((claim) => `${namespaceOf(pod)}/${claim}`);
      const used = keys.filter((key) => snapshot.nodes.some((node) => node.claims.has(key)));
      const hasDisks = (pod.spec?.volumes ?? []).some(isExclusiveDisk);
      if (!hasDisks && used.length === 0) return { status: skip };
      state.write(name, new ClaimUse(exclusive, used.length));
      return undefined;
    },
    addPod: ({ state }, other) => state.read<ClaimUse>(name)!.add(other.pod, 1),
    removePod: ({ state }, other) => state.read<ClaimUse>(name)!.add(other.pod, -1),
    filter: ({ state, pod }, node) => {
      if (node.pods.some((other) => sharesDisk(pod, other.pod))) return diskConflict;
      return state.read<ClaimUse>(name)!.count > 0 ? claimConflict : undefined;
    },
    events: [
      {
        resource: "Pod",
        action: actions.delete,
        hint: (pod, { before }) => {
          const other = before as Pod;
          if (namespaceOf(pod) !== namespaceOf(other)) return false;
          const own = sharedClaims(pod);
          return sharesDisk(pod, other) || sharedClaims(other).some((each) => own.includes(each));
        },
      },
      { resource: "Node", action: actions.add },
      {
        resource: "PersistentVolumeClaim",
        action: actions.add,
        hint: (pod, { after }) => {
          const { metadata } = after as PersistentVolumeClaim;
          const isSame = namespaceOf(pod) === metadata.namespace;
          return isSame && sharedClaims(pod).includes(metadata.name);
        },
      },
    ],
  };
}

function isExclusiveDisk({ gcePersistentDisk, awsElasticBlockStore, rbd, iscsi }: Volume): boolean {
  return (gcePersistentDisk ?? awsElasticBlockStore ?? rbd ?? iscsi) !== undefined;
}

function sharesDisk(pod: Pod, other: Pod): boolean {
  const volumes = other.spec?.volumes ?? [];
  return (pod.spec?.volumes ?? []).some(
    (volume) => isExclusiveDisk(volume) && volumes.some((each) => conflicts(volume, each)),
  );
}

/** Whether two volumes are the same disk and cannot both be mounted; most can if both are read-only. */
function conflicts(a: Volume, b: Volume): boolean {
  const isWritten = (...disks: readonly { readonly readOnly?: boolean }[]) =>
    disks.some(({ readOnly }) => readOnly !== true);
  const [gce, otherGce] = [a.gcePersistentDisk, b.gcePersistentDisk];
  if (gce && otherGce && gce.pdName === otherGce.pdName && isWritten(gce, otherGce)) return true;
  const [ebs, otherEbs] = [a.awsElasticBlockStore, b.awsElasticBlockStore];
  if (ebs && otherEbs && ebs.volumeID === otherEbs.volumeID) return true;
  const [iscsi, otherIscsi] = [a.iscsi, b.iscsi];
  if (iscsi && otherIscsi && iscsi.iqn === otherIscsi.iqn && isWritten(iscsi, otherIscsi)) {
    return true;
  }
  const [rbd, otherRbd] = [a.rbd, b.rbd];
  if (!rbd || !otherRbd || !isWritten(rbd, otherRbd)) return false;
  const isSame = rbd.pool === otherRbd.pool && rbd.image === otherRbd.image;
  return isSame && rbd.monitors.some((each) => otherRbd.monitors.includes(each));
}
