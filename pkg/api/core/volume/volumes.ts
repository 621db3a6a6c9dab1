/** Volumes of pods. */
import { type Infer, required, inline, pointer, string, structs } from "#schema";
import { persistentVolumeClaimTemplate } from "../persistent-volume/persistent-volume-claim-spec.ts";
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
    volumeClaimTemplate: pointer(1, persistentVolumeClaimTemplate, "What the claim looks like."),
  },
);

export const volumeSource = v1(
  "VolumeSource",
  "Where the contents come from; exactly one field is set.",
  {
    hostPath: pointer(1, hostPathVolumeSource, "A file or directory of the node itself."),
    emptyDir: pointer(2, emptyDirVolumeSource, "An empty directory that lives as long as the pod."),
    gcePersistentDisk: pointer(
      3,
      gcePersistentDiskVolumeSource,
      "A disk of Google Compute Engine; deprecated.",
    ),
    awsElasticBlockStore: pointer(
      4,
      awsElasticBlockStoreVolumeSource,
      "A disk of Amazon Elastic Block Store; deprecated.",
    ),
    gitRepo: pointer(5, gitRepoVolumeSource, "A clone of a git repository; deprecated."),
    secret: pointer(6, secretVolumeSource, "The entries of a Secret as files."),
    nfs: pointer(7, nfsVolumeSource, "A directory exported by an NFS server."),
    iscsi: pointer(8, iscsiVolumeSource, "An iSCSI disk."),
    glusterfs: pointer(9, glusterfsVolumeSource, "A Glusterfs volume; deprecated."),
    persistentVolumeClaim: pointer(
      10,
      persistentVolumeClaimVolumeSource,
      "The volume bound to a claim in the pod's namespace.",
    ),
    rbd: pointer(11, rbdVolumeSource, "A Ceph block device; deprecated."),
    flexVolume: pointer(
      12,
      flexVolumeSource,
      "A volume that a driver program on the node provides; deprecated.",
    ),
    cinder: pointer(13, cinderVolumeSource, "A volume of OpenStack Cinder; deprecated."),
    cephfs: pointer(14, cephFSVolumeSource, "A Ceph file system; deprecated."),
    flocker: pointer(15, flockerVolumeSource, "A dataset of Flocker; deprecated."),
    downwardAPI: pointer(16, downwardAPIVolumeSource, "Files that show what the pod is."),
    fc: pointer(17, fcVolumeSource, "A Fibre Channel disk."),
    azureFile: pointer(18, azureFileVolumeSource, "A file share of Azure; deprecated."),
    configMap: pointer(19, configMapVolumeSource, "The entries of a ConfigMap as files."),
    vsphereVolume: pointer(
      20,
      vsphereVirtualDiskVolumeSource,
      "A virtual disk of vSphere; deprecated.",
    ),
    quobyte: pointer(21, quobyteVolumeSource, "A Quobyte volume; deprecated."),
    azureDisk: pointer(22, azureDiskVolumeSource, "A data disk of Azure; deprecated."),
    photonPersistentDisk: pointer(
      23,
      photonPersistentDiskVolumeSource,
      "A disk of the Photon controller; deprecated.",
    ),
    projected: pointer(26, projectedVolumeSource, "Several sources in one directory."),
    portworxVolume: pointer(24, portworxVolumeSource, "A Portworx volume; deprecated."),
    scaleIO: pointer(25, scaleIOVolumeSource, "A ScaleIO volume; deprecated."),
    storageos: pointer(27, storageOSVolumeSource, "A StorageOS volume; deprecated."),
    csi: pointer(28, csiVolumeSource, "A volume that a CSI driver makes for this pod alone."),
    ephemeral: pointer(
      29,
      ephemeralVolumeSource,
      "A claim that is made for the pod and goes with it.",
    ),
    image: pointer(30, imageVolumeSource, "The files of an OCI image or artifact, read-only."),
  },
);

export const volume = v1("Volume", "A directory that containers of a pod can mount.", {
  name: required(1, string, "Name by which containers mount it, unique within the pod."),
  volumeSource: inline(2, volumeSource, "Where the contents come from."),
});

export type Volume = Infer<typeof volume>;
