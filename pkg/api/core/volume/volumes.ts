/** Structs of pod volumes. */
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
  "Ephemeral volume: provisioned for the pod through a PersistentVolumeClaim, and deleted with it.",
  {
    volumeClaimTemplate: pointer(
      1,
      persistentVolumeClaimTemplate,
      "Template of the PersistentVolumeClaim, which is named `<pod>-<volume>` and owned by the " +
        "pod. Required. Immutable.",
    ),
  },
);

export const volumeSource = v1(
  "VolumeSource",
  "Source of a volume. Only one field can be set. Defaults to emptyDir.",
  {
    hostPath: pointer(
      1,
      hostPathVolumeSource,
      "File or directory on the host, mainly for system agents.",
    ),
    emptyDir: pointer(2, emptyDirVolumeSource, "Empty directory that is deleted with the pod."),
    gcePersistentDisk: pointer(
      3,
      gcePersistentDiskVolumeSource,
      "Google Compute Engine disk to mount. Deprecated.",
    ),
    awsElasticBlockStore: pointer(
      4,
      awsElasticBlockStoreVolumeSource,
      "Amazon EBS volume to mount. Deprecated.",
    ),
    gitRepo: pointer(
      5,
      gitRepoVolumeSource,
      "Git repository to clone. Deprecated and disabled by default.",
    ),
    secret: pointer(6, secretVolumeSource, "Secret to project as files."),
    nfs: pointer(7, nfsVolumeSource, "NFS export to mount, which outlives the pod."),
    iscsi: pointer(8, iscsiVolumeSource, "iSCSI disk to attach to the node and mount."),
    glusterfs: pointer(9, glusterfsVolumeSource, "Volume on a Glusterfs cluster. Deprecated."),
    persistentVolumeClaim: pointer(
      10,
      persistentVolumeClaimVolumeSource,
      "PersistentVolumeClaim in the namespace of the pod, whose volume is mounted.",
    ),
    rbd: pointer(11, rbdVolumeSource, "Ceph RBD image to mount. Deprecated."),
    flexVolume: pointer(
      12,
      flexVolumeSource,
      "Volume provided by a FlexVolume plugin on the node. Deprecated.",
    ),
    cinder: pointer(13, cinderVolumeSource, "OpenStack block storage volume to mount. Deprecated."),
    cephfs: pointer(14, cephFSVolumeSource, "CephFS directory to mount. Deprecated."),
    flocker: pointer(15, flockerVolumeSource, "Dataset managed by Flocker. Deprecated."),
    downwardAPI: pointer(
      16,
      downwardAPIVolumeSource,
      "Downward API: fields and resources of the pod to project as files.",
    ),
    fc: pointer(17, fcVolumeSource, "Fibre Channel disk to attach to the node and mount."),
    azureFile: pointer(
      18,
      azureFileVolumeSource,
      "File share of an Azure storage account. Deprecated.",
    ),
    configMap: pointer(19, configMapVolumeSource, "ConfigMap to project as files."),
    vsphereVolume: pointer(
      20,
      vsphereVirtualDiskVolumeSource,
      "VMDK on a vSphere datastore. Deprecated.",
    ),
    quobyte: pointer(21, quobyteVolumeSource, "Volume on a Quobyte cluster. Deprecated."),
    azureDisk: pointer(22, azureDiskVolumeSource, "Data disk in Azure. Deprecated."),
    photonPersistentDisk: pointer(
      23,
      photonPersistentDiskVolumeSource,
      "Photon Controller disk. Deprecated.",
    ),
    projected: pointer(
      26,
      projectedVolumeSource,
      "Secrets, ConfigMaps, downward API, tokens and certificates combined in one directory.",
    ),
    portworxVolume: pointer(24, portworxVolumeSource, "Volume on a Portworx cluster. Deprecated."),
    scaleIO: pointer(25, scaleIOVolumeSource, "Volume on a ScaleIO system. Deprecated."),
    storageos: pointer(27, storageOSVolumeSource, "Volume on a StorageOS cluster. Deprecated."),
    csi: pointer(28, csiVolumeSource, "Ephemeral inline volume handled by a CSI driver."),
    ephemeral: pointer(
      29,
      ephemeralVolumeSource,
      "PersistentVolumeClaim that is created for the pod and deleted with it.",
    ),
    image: pointer(
      30,
      imageVolumeSource,
      "OCI image or artifact to mount read-only. Beta, off by default: requires the feature " +
        "gate ImageVolume.",
    ),
  },
);

export const volume = v1("Volume", "Named volume in a pod that containers can mount.", {
  name: required(1, string, "Name of the volume: a DNS label, unique within the pod."),
  volumeSource: inline(2, volumeSource, "Source that the volume is created from."),
});

export type Volume = Infer<typeof volume>;
