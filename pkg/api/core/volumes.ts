/** Volumes of pods. */
import { type Infer, always, inline, optional, string, structs } from "#schema";
import { persistentVolumeClaimTemplate } from "./persistent-volume-claim-spec.ts";
import {
  azureFileVolumeSource,
  cephFSVolumeSource,
  cinderVolumeSource,
  csiVolumeSource,
  emptyDirVolumeSource,
  flexVolumeSource,
  gitRepoVolumeSource,
  glusterfsVolumeSource,
  imageVolumeSource,
  iscsiVolumeSource,
  persistentVolumeClaimVolumeSource,
  rbdVolumeSource,
  scaleIOVolumeSource,
  storageOSVolumeSource,
} from "./pod-volume-sources.ts";
import {
  configMapVolumeSource,
  downwardAPIVolumeSource,
  projectedVolumeSource,
  secretVolumeSource,
} from "./projected-volumes.ts";
import {
  awsElasticBlockStoreVolumeSource,
  azureDiskVolumeSource,
  fcVolumeSource,
  flockerVolumeSource,
  gcePersistentDiskVolumeSource,
  hostPathVolumeSource,
  nfsVolumeSource,
  photonPersistentDiskVolumeSource,
  portworxVolumeSource,
  quobyteVolumeSource,
  vsphereVirtualDiskVolumeSource,
} from "./volume-sources.ts";

const v1 = structs("api/core/v1");

const ephemeralVolumeSource = v1(
  "EphemeralVolumeSource",
  "A claim that is made for the pod and goes with it.",
  {
    volumeClaimTemplate: optional(1, persistentVolumeClaimTemplate, "What the claim looks like."),
  },
);

export const volumeSource = v1(
  "VolumeSource",
  "Where the contents come from; exactly one field is set.",
  {
    hostPath: optional(1, hostPathVolumeSource, "A file or directory of the node itself."),
    emptyDir: optional(
      2,
      emptyDirVolumeSource,
      "An empty directory that lives as long as the pod.",
    ),
    gcePersistentDisk: optional(
      3,
      gcePersistentDiskVolumeSource,
      "A disk of Google Compute Engine; deprecated.",
    ),
    awsElasticBlockStore: optional(
      4,
      awsElasticBlockStoreVolumeSource,
      "A disk of Amazon Elastic Block Store; deprecated.",
    ),
    gitRepo: optional(5, gitRepoVolumeSource, "A clone of a git repository; deprecated."),
    secret: optional(6, secretVolumeSource, "The entries of a Secret as files."),
    nfs: optional(7, nfsVolumeSource, "A directory exported by an NFS server."),
    iscsi: optional(8, iscsiVolumeSource, "An iSCSI disk."),
    glusterfs: optional(9, glusterfsVolumeSource, "A Glusterfs volume; deprecated."),
    persistentVolumeClaim: optional(
      10,
      persistentVolumeClaimVolumeSource,
      "The volume bound to a claim in the pod's namespace.",
    ),
    rbd: optional(11, rbdVolumeSource, "A Ceph block device; deprecated."),
    flexVolume: optional(
      12,
      flexVolumeSource,
      "A volume that a driver program on the node provides; deprecated.",
    ),
    cinder: optional(13, cinderVolumeSource, "A volume of OpenStack Cinder; deprecated."),
    cephfs: optional(14, cephFSVolumeSource, "A Ceph file system; deprecated."),
    flocker: optional(15, flockerVolumeSource, "A dataset of Flocker; deprecated."),
    downwardAPI: optional(16, downwardAPIVolumeSource, "Files that show what the pod is."),
    fc: optional(17, fcVolumeSource, "A Fibre Channel disk."),
    azureFile: optional(18, azureFileVolumeSource, "A file share of Azure; deprecated."),
    configMap: optional(19, configMapVolumeSource, "The entries of a ConfigMap as files."),
    vsphereVolume: optional(
      20,
      vsphereVirtualDiskVolumeSource,
      "A virtual disk of vSphere; deprecated.",
    ),
    quobyte: optional(21, quobyteVolumeSource, "A Quobyte volume; deprecated."),
    azureDisk: optional(22, azureDiskVolumeSource, "A data disk of Azure; deprecated."),
    photonPersistentDisk: optional(
      23,
      photonPersistentDiskVolumeSource,
      "A disk of the Photon controller; deprecated.",
    ),
    projected: optional(26, projectedVolumeSource, "Several sources in one directory."),
    portworxVolume: optional(24, portworxVolumeSource, "A Portworx volume; deprecated."),
    scaleIO: optional(25, scaleIOVolumeSource, "A ScaleIO volume; deprecated."),
    storageos: optional(27, storageOSVolumeSource, "A StorageOS volume; deprecated."),
    csi: optional(28, csiVolumeSource, "A volume that a CSI driver makes for this pod alone."),
    ephemeral: optional(
      29,
      ephemeralVolumeSource,
      "A claim that is made for the pod and goes with it.",
    ),
    image: optional(30, imageVolumeSource, "The files of an OCI image or artifact, read-only."),
  },
);

export const volume = v1("Volume", "A directory that containers of a pod can mount.", {
  name: always(1, string, "Name by which containers mount it, unique within the pod."),
  volumeSource: inline(2, volumeSource, "Where the contents come from."),
});

export type Volume = Infer<typeof volume>;
