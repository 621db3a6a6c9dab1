/** Where the contents of a PersistentVolume come from: sources whose secrets may be anywhere. */
import {
  required,
  bool,
  type Infer,
  int32,
  list,
  map,
  nullablePointer,
  pointer,
  value,
  string,
  structs,
} from "#schema";
import { objectReference, secretReference } from "../shared/references.ts";
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
  "Filesystem type of the volume, ext4 or xfs for example. When unset, the driver " +
  "chooses, usually ext4.";
const readOnly = "Whether the volume is mounted read-only. Defaults to false.";

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

const rbdPersistentVolumeSource = v1(
  "RBDPersistentVolumeSource",
  "Ceph RBD image. Deprecated: the in-tree driver was removed in v1.31.",
  {
    monitors: required(1, list(string), "Addresses of the Ceph monitors.", { listType: "atomic" }),
    image: required(2, string, "Name of the RBD image."),
    fsType: value(3, string, fileSystem),
    pool: value(4, string, "Ceph pool that contains the image. Defaults to rbd.", {
      default: "rbd",
      openApi: { default: true },
    }),
    user: value(5, string, "Ceph user to authenticate as. Defaults to admin.", {
      default: "admin",
      openApi: { default: true },
    }),
    keyring: value(
      6,
      string,
      "Path of the keyring of the user on the node. Defaults to /etc/ceph/keyring.",
      { default: "/etc/ceph/keyring", openApi: { default: true } },
    ),
    secretRef: pointer(
      7,
      secretReference,
      "Secret with the key of the user. Takes precedence over keyring.",
    ),
    readOnly: value(8, bool, readOnly),
  },
);

const iscsiPersistentVolumeSource = v1(
  "ISCSIPersistentVolumeSource",
  "iSCSI disk, which can be mounted read-write by one node at a time.",
  {
    targetPortal: required(
      1,
      string,
      "Portal of the target as host, or host:port if the port is not 3260.",
    ),
    iqn: required(2, string, "Qualified name of the target: iqn, eui or naa format."),
    lun: required(3, int32, "Logical unit number of the target, 0 to 255."),
    iscsiInterface: value(
      4,
      string,
      "Interface that carries the traffic. Defaults to default, which stands for TCP.",
      { default: "default", openApi: { default: true } },
    ),
    fsType: value(5, string, fileSystem),
    readOnly: value(6, bool, readOnly),
    portals: value(7, list(string), "Further portals of the target, for multipathing.", {
      listType: "atomic",
    }),
    chapAuthDiscovery: value(
      8,
      bool,
      "Whether discovery authenticates by CHAP. Requires secretRef. Defaults to false.",
    ),
    chapAuthSession: value(
      11,
      bool,
      "Whether sessions authenticate by CHAP. Requires secretRef. Defaults to false.",
    ),
    secretRef: pointer(10, secretReference, "Secret with the CHAP credentials."),
    initiatorName: pointer(
      12,
      string,
      "Name of the initiator. When set together with iscsiInterface, a new interface " +
        "`<portal>:<volume>` is created for the connection.",
    ),
  },
);

const cinderPersistentVolumeSource = v1(
  "CinderPersistentVolumeSource",
  "OpenStack Cinder volume. Deprecated: redirected to the CSI driver of Cinder.",
  {
    volumeID: required(1, string, "ID of the Cinder volume."),
    fsType: value(2, string, fileSystem),
    readOnly: value(3, bool, readOnly),
    secretRef: pointer(4, secretReference, "Secret with the OpenStack credentials."),
  },
);

const cephFSPersistentVolumeSource = v1(
  "CephFSPersistentVolumeSource",
  "CephFS mount. Deprecated: the in-tree driver was removed in v1.31.",
  {
    monitors: required(1, list(string), "Addresses of the Ceph monitors.", { listType: "atomic" }),
    path: value(2, string, "Directory to mount. Defaults to the root /."),
    user: value(3, string, "Ceph user to authenticate as. Defaults to admin."),
    secretFile: value(
      4,
      string,
      "Path of the keyring of the user on the node. Defaults to /etc/ceph/user.secret.",
    ),
    secretRef: pointer(
      5,
      secretReference,
      "Secret with the key of the user. Takes precedence over secretFile.",
    ),
    readOnly: value(6, bool, readOnly),
  },
);

const flexPersistentVolumeSource = v1(
  "FlexPersistentVolumeSource",
  "Volume of an exec-based plugin on the nodes. Deprecated: use a CSI driver.",
  {
    driver: required(1, string, "Name of the plugin driver."),
    fsType: value(2, string, fileSystem),
    secretRef: pointer(3, secretReference, "Secret whose data is passed to the driver."),
    readOnly: value(4, bool, readOnly),
    options: value(5, map(string), "Additional options for the driver."),
  },
);

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

const scaleIOPersistentVolumeSource = v1(
  "ScaleIOPersistentVolumeSource",
  "ScaleIO volume. Deprecated: the in-tree driver was removed in v1.22.",
  {
    gateway: required(1, string, "Address of the API gateway."),
    system: required(2, string, "Name of the storage system."),
    secretRef: nullablePointer(
      3,
      secretReference,
      "Secret with the credentials of the gateway. Required.",
    ),
    sslEnabled: value(4, bool, "Whether the gateway is accessed over TLS. Defaults to false."),
    protectionDomain: value(5, string, "Name of the protection domain."),
    storagePool: value(6, string, "Storage pool within the protection domain."),
    storageMode: value(
      7,
      string,
      "Provisioning mode: ThickProvisioned or ThinProvisioned. Defaults to ThinProvisioned.",
      {
        default: "ThinProvisioned",
        openApi: { default: true },
      },
    ),
    volumeName: value(8, string, "Name of an existing volume."),
    fsType: value(9, string, "Filesystem type to mount. Defaults to xfs.", {
      default: "xfs",
      openApi: { default: true },
    }),
    readOnly: value(10, bool, readOnly),
  },
);

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

const storageOSPersistentVolumeSource = v1(
  "StorageOSPersistentVolumeSource",
  "StorageOS volume. Deprecated: the in-tree driver was removed in v1.25.",
  {
    volumeName: value(1, string, "Name of the volume, unique within its namespace."),
    volumeNamespace: value(
      2,
      string,
      "Namespace of the volume within StorageOS. Defaults to that of the pod.",
    ),
    fsType: value(3, string, fileSystem),
    readOnly: value(4, bool, readOnly),
    secretRef: pointer(5, objectReference, "Secret with the credentials of the StorageOS API."),
  },
);

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
