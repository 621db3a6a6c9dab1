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
    endpoints: required(
      1,
      string,
      "Name of the Endpoints object that lists the Glusterfs servers.",
    ),
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
  "Azure File share. Deprecated: all operations are redirected to the CSI driver " +
    "file.csi.azure.com.",
  {
    secretName: required(
      1,
      string,
      "Name of the Secret that contains the name and key of the Azure storage account.",
    ),
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
  "Locally attached storage: a disk, partition or directory on a node. Requires nodeAffinity.",
  {
    path: required(1, string, "Path of the directory or block device on the node."),
    fsType: pointer(
      2,
      string,
      "Filesystem type to mount when path is a block device. Selected automatically if absent.",
    ),
  },
);

const storageOSPersistentVolumeSource = storageOSSource("StorageOSPersistentVolumeSource", {
  ...inVolume,
  secret: objectReference,
});

const csiPersistentVolumeSource = v1("CSIPersistentVolumeSource", "Volume of a CSI driver.", {
  driver: required(
    1,
    string,
    "Name of the CSI driver that handles the volume. At most 63 characters.",
  ),
  volumeHandle: required(
    2,
    string,
    "Unique ID of the volume, returned by the driver's CreateVolume and passed in all later calls.",
  ),
  readOnly: value(
    3,
    bool,
    "Whether ControllerPublishVolume requests a read-only volume. Defaults to false.",
  ),
  fsType: value(4, string, fileSystem),
  volumeAttributes: value(
    5,
    map(string),
    "Attributes of the volume, passed to the driver when it publishes the volume.",
  ),
  controllerPublishSecretRef: pointer(
    6,
    secretReference,
    "Secret to pass to the driver in ControllerPublishVolume and ControllerUnpublishVolume.",
  ),
  nodeStageSecretRef: pointer(
    7,
    secretReference,
    "Secret to pass to the driver in NodeStageVolume and NodeUnstageVolume.",
  ),
  nodePublishSecretRef: pointer(
    8,
    secretReference,
    "Secret to pass to the driver in NodePublishVolume and NodeUnpublishVolume.",
  ),
  controllerExpandSecretRef: pointer(
    9,
    secretReference,
    "Secret to pass to the driver in ControllerExpandVolume. Can be added later, but not changed.",
  ),
  nodeExpandSecretRef: pointer(
    10,
    secretReference,
    "Secret to pass to the driver in NodeExpandVolume.",
  ),
});

export const persistentVolumeSource = v1(
  "PersistentVolumeSource",
  "Storage that backs a PersistentVolume. Exactly one field must be set.",
  {
    gcePersistentDisk: pointer(
      1,
      gcePersistentDiskVolumeSource,
      "Google Compute Engine persistent disk. Deprecated.",
    ),
    awsElasticBlockStore: pointer(
      2,
      awsElasticBlockStoreVolumeSource,
      "Amazon EBS volume attached to the kubelet's host. Deprecated.",
    ),
    hostPath: pointer(
      3,
      hostPathVolumeSource,
      "Directory on the host, for development and testing on a single node only.",
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
    fc: pointer(10, fcVolumeSource, "Fibre Channel disk to attach to the node and mount."),
    flocker: pointer(11, flockerVolumeSource, "Dataset managed by Flocker. Deprecated."),
    flexVolume: pointer(
      12,
      flexPersistentVolumeSource,
      "Volume provided by a FlexVolume plugin on the node. Deprecated.",
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
      "Photon Controller disk. Deprecated.",
    ),
    portworxVolume: pointer(18, portworxVolumeSource, "Volume on a Portworx cluster. Deprecated."),
    scaleIO: pointer(19, scaleIOPersistentVolumeSource, "Volume on a ScaleIO system. Deprecated."),
    local: pointer(20, localVolumeSource, "Locally attached storage of a node."),
    storageos: pointer(
      21,
      storageOSPersistentVolumeSource,
      "Volume on a StorageOS cluster. Deprecated.",
    ),
    csi: pointer(22, csiPersistentVolumeSource, "Volume handled by an external CSI driver."),
  },
);

export type PersistentVolumeSource = Infer<typeof persistentVolumeSource>;
