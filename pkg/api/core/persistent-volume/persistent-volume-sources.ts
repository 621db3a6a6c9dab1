/** Sources of PersistentVolumes, whose Secret references include a namespace. */
import {
  required,
  bool,
  type Infer,
  map,
  nullablePointer,
  pointer,
  value,
  string,
  structs,
} from "#schema";
import { objectReference, secretReference } from "../shared/references.ts";
import {
  cephFSSource,
  cinderSource,
  flexSource,
  iscsiSource,
  rbdSource,
  scaleIOSource,
  storageOSSource,
} from "../volume/secret-volume-sources.ts";
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
} from "../volume/volume-sources.ts";

const v1 = structs("api/core/v1");

const fileSystem =
  "Filesystem type of the volume, for example ext4 or xfs. When unset, the driver chooses, " +
  "usually ext4.";
const readOnly = "Whether the volume is mounted read-only. Defaults to false.";
const inVolume = { secret: secretReference, fileSystem };

const glusterfsPersistentVolumeSource = v1(
  "GlusterfsPersistentVolumeSource",
  "Glusterfs volume. Deprecated: the in-tree driver was removed in v1.26.",
  {
    endpoints: required(1, string, "Name of the Endpoints object that lists the servers."),
    path: required(2, string, "Name of the Glusterfs volume."),
    readOnly: value(3, bool, readOnly),
    endpointsNamespace: pointer(
      4,
      string,
      "Namespace of the Endpoints object. Defaults to that of the bound claim.",
    ),
  },
);

const rbdPersistentVolumeSource = rbdSource("RBDPersistentVolumeSource", inVolume);

const iscsiPersistentVolumeSource = iscsiSource("ISCSIPersistentVolumeSource", inVolume);

const cinderPersistentVolumeSource = cinderSource("CinderPersistentVolumeSource", inVolume);

const cephFSPersistentVolumeSource = cephFSSource("CephFSPersistentVolumeSource", inVolume);

const flexPersistentVolumeSource = flexSource("FlexPersistentVolumeSource", inVolume);

const azureFilePersistentVolumeSource = v1(
  "AzureFilePersistentVolumeSource",
  "Azure File share. Deprecated: redirected to the CSI driver of Azure File.",
  {
    secretName: required(1, string, "Secret with name and key of the storage account."),
    shareName: required(2, string, "Name of the file share."),
    readOnly: value(3, bool, readOnly),
    secretNamespace: nullablePointer(
      4,
      string,
      "Namespace of the Secret. Defaults to that of the pod.",
      {
        required: false,
      },
    ),
  },
);

const scaleIOPersistentVolumeSource = scaleIOSource("ScaleIOPersistentVolumeSource", inVolume);

const localVolumeSource = v1(
  "LocalVolumeSource",
  "Disk, partition or directory that is mounted on one node. Requires nodeAffinity.",
  {
    path: required(1, string, "Path of the directory or block device on the node."),
    fsType: pointer(
      2,
      string,
      "Filesystem type to format and mount a block device with. Chosen automatically when absent.",
    ),
  },
);

const storageOSPersistentVolumeSource = storageOSSource("StorageOSPersistentVolumeSource", {
  ...inVolume,
  secret: objectReference,
});

const csiPersistentVolumeSource = v1("CSIPersistentVolumeSource", "Volume of a CSI driver.", {
  driver: required(1, string, "Name of the CSI driver. At most 63 characters."),
  volumeHandle: required(
    2,
    string,
    "Identifier that the driver returned when it created the volume.",
  ),
  readOnly: value(
    3,
    bool,
    "Whether ControllerPublishVolume publishes the volume read-only. Defaults to false.",
  ),
  fsType: value(4, string, fileSystem),
  volumeAttributes: value(
    5,
    map(string),
    "Attributes that the driver returned when it created the volume.",
  ),
  controllerPublishSecretRef: pointer(
    6,
    secretReference,
    "Secret for ControllerPublishVolume and ControllerUnpublishVolume.",
  ),
  nodeStageSecretRef: pointer(
    7,
    secretReference,
    "Secret for NodeStageVolume, the first mount on a node.",
  ),
  nodePublishSecretRef: pointer(
    8,
    secretReference,
    "Secret for NodePublishVolume, the mount for a pod.",
  ),
  controllerExpandSecretRef: pointer(
    9,
    secretReference,
    "Secret for ControllerExpandVolume. May be added, but not changed later.",
  ),
  nodeExpandSecretRef: pointer(10, secretReference, "Secret for NodeExpandVolume."),
});

export const persistentVolumeSource = v1(
  "PersistentVolumeSource",
  "Storage behind a PersistentVolume. Exactly one field must be set.",
  {
    gcePersistentDisk: pointer(
      1,
      gcePersistentDiskVolumeSource,
      "Google Compute Engine disk. Deprecated.",
    ),
    awsElasticBlockStore: pointer(
      2,
      awsElasticBlockStoreVolumeSource,
      "EBS volume of Amazon Web Services. Deprecated.",
    ),
    hostPath: pointer(
      3,
      hostPathVolumeSource,
      "Directory on the node, for development and testing on a single node only.",
    ),
    glusterfs: pointer(
      4,
      glusterfsPersistentVolumeSource,
      "Volume on a Glusterfs cluster. Deprecated.",
    ),
    nfs: pointer(5, nfsVolumeSource, "Directory that an NFS server exports."),
    rbd: pointer(6, rbdPersistentVolumeSource, "Ceph RBD image to mount. Deprecated."),
    iscsi: pointer(7, iscsiPersistentVolumeSource, "Logical unit of an iSCSI target."),
    cinder: pointer(8, cinderPersistentVolumeSource, "OpenStack block storage volume. Deprecated."),
    cephfs: pointer(9, cephFSPersistentVolumeSource, "CephFS directory to mount. Deprecated."),
    fc: pointer(10, fcVolumeSource, "Logical unit that is attached through Fibre Channel."),
    flocker: pointer(11, flockerVolumeSource, "Dataset managed by Flocker. Deprecated."),
    flexVolume: pointer(
      12,
      flexPersistentVolumeSource,
      "Volume that a plugin on the node provides. Deprecated.",
    ),
    azureFile: pointer(
      13,
      azureFilePersistentVolumeSource,
      "File share of an Azure storage account. Deprecated.",
    ),
    vsphereVolume: pointer(
      14,
      vsphereVirtualDiskVolumeSource,
      "VMDK on a vSphere datastore. Deprecated.",
    ),
    quobyte: pointer(15, quobyteVolumeSource, "Volume on a Quobyte cluster. Deprecated."),
    azureDisk: pointer(16, azureDiskVolumeSource, "Data disk in Azure. Deprecated."),
    photonPersistentDisk: pointer(
      17,
      photonPersistentDiskVolumeSource,
      "Disk of a Photon controller. Deprecated.",
    ),
    portworxVolume: pointer(18, portworxVolumeSource, "Volume on a Portworx cluster. Deprecated."),
    scaleIO: pointer(19, scaleIOPersistentVolumeSource, "Volume on a ScaleIO system. Deprecated."),
    local: pointer(20, localVolumeSource, "Storage that is attached directly to one node."),
    storageos: pointer(
      21,
      storageOSPersistentVolumeSource,
      "Volume on a StorageOS cluster. Deprecated.",
    ),
    csi: pointer(22, csiPersistentVolumeSource, "Volume handled by an external CSI driver."),
  },
);

export type PersistentVolumeSource = Infer<typeof persistentVolumeSource>;
