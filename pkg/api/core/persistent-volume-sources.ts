/** Where the contents of a PersistentVolume come from: sources whose secrets may be anywhere. */
import {
  always,
  bool,
  type Infer,
  int32,
  list,
  map,
  nullable,
  optional,
  plain,
  string,
  structs,
} from "#schema";
import { objectReference, secretReference } from "./references.ts";
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

const fileSystem = "File system to mount, as in ext4.";
const readOnly = "Mount it read-only.";

const glusterfsPersistentVolumeSource = v1(
  "GlusterfsPersistentVolumeSource",
  "A volume of Glusterfs.",
  {
    endpoints: always(1, string, "Endpoints with the addresses of the servers."),
    path: always(2, string, "Name of the volume."),
    readOnly: plain(3, bool, readOnly),
    endpointsNamespace: optional(4, string, "Namespace of the endpoints; else that of the claim."),
  },
);

const rbdPersistentVolumeSource = v1("RBDPersistentVolumeSource", "A block device of Ceph.", {
  monitors: always(1, list(string), "Monitors of the Ceph cluster.", { listType: "atomic" }),
  image: always(2, string, "Name of the image."),
  fsType: plain(3, string, fileSystem),
  pool: plain(4, string, "Pool of the image.", { default: "rbd" }),
  user: plain(5, string, "User of Ceph.", { default: "admin" }),
  keyring: plain(6, string, "Path of the user's keyring.", { default: "/etc/ceph/keyring" }),
  secretRef: optional(7, secretReference, "Secret of the user, in place of the keyring."),
  readOnly: plain(8, bool, readOnly),
});

const iscsiPersistentVolumeSource = v1("ISCSIPersistentVolumeSource", "A disk over iSCSI.", {
  targetPortal: always(1, string, "Address of the target, with a port unless it is 3260."),
  iqn: always(2, string, "Qualified name of the target."),
  lun: always(3, int32, "Number of the logical unit."),
  iscsiInterface: plain(4, string, "Interface that is used.", { default: "default" }),
  fsType: plain(5, string, fileSystem),
  readOnly: plain(6, bool, readOnly),
  portals: plain(7, list(string), "More addresses of the target.", { listType: "atomic" }),
  chapAuthDiscovery: plain(8, bool, "Discovery is authenticated by CHAP."),
  chapAuthSession: plain(11, bool, "Sessions are authenticated by CHAP."),
  secretRef: optional(10, secretReference, "Secret for CHAP."),
  initiatorName: optional(12, string, "Name of the initiator, for an interface of its own."),
});

const cinderPersistentVolumeSource = v1(
  "CinderPersistentVolumeSource",
  "A volume of OpenStack Cinder.",
  {
    volumeID: always(1, string, "ID of the volume."),
    fsType: plain(2, string, fileSystem),
    readOnly: plain(3, bool, readOnly),
    secretRef: optional(4, secretReference, "Secret for access to OpenStack."),
  },
);

const cephFSPersistentVolumeSource = v1("CephFSPersistentVolumeSource", "A file system of Ceph.", {
  monitors: always(1, list(string), "Monitors of the Ceph cluster.", { listType: "atomic" }),
  path: plain(2, string, "Directory that is mounted; the root unless set."),
  user: plain(3, string, "User of Ceph; admin unless set."),
  secretFile: plain(4, string, "Path of the user's keyring."),
  secretRef: optional(5, secretReference, "Secret of the user, in place of the keyring."),
  readOnly: plain(6, bool, readOnly),
});

const flexPersistentVolumeSource = v1("FlexPersistentVolumeSource", "A volume of a plug-in.", {
  driver: always(1, string, "Name of the driver."),
  fsType: plain(2, string, fileSystem),
  secretRef: optional(3, secretReference, "Secret that the driver gets."),
  readOnly: plain(4, bool, readOnly),
  options: plain(5, map(string), "More options for the driver."),
});

const azureFilePersistentVolumeSource = v1("AzureFilePersistentVolumeSource", "A share of Azure.", {
  secretName: always(1, string, "Secret with the name and key of the account."),
  shareName: always(2, string, "Name of the share."),
  readOnly: plain(3, bool, readOnly),
  secretNamespace: nullable(4, string, "Namespace of the Secret; else that of the pod.", {
    required: false,
  }),
});

const scaleIOPersistentVolumeSource = v1("ScaleIOPersistentVolumeSource", "A volume of ScaleIO.", {
  gateway: always(1, string, "Address of the gateway."),
  system: always(2, string, "Name of the storage system."),
  secretRef: nullable(3, secretReference, "Secret of the user."),
  sslEnabled: plain(4, bool, "Whether the gateway is spoken to over TLS."),
  protectionDomain: plain(5, string, "Name of the protection domain."),
  storagePool: plain(6, string, "Storage pool of the domain."),
  storageMode: plain(7, string, "ThickProvisioned or ThinProvisioned.", {
    default: "ThinProvisioned",
  }),
  volumeName: plain(8, string, "Name of the volume."),
  fsType: plain(9, string, fileSystem, { default: "xfs" }),
  readOnly: plain(10, bool, readOnly),
});

const localVolumeSource = v1("LocalVolumeSource", "A disk or directory of one node.", {
  path: always(1, string, "Path on the node."),
  fsType: optional(2, string, "File system to mount, if the path is a block device."),
});

const storageOSPersistentVolumeSource = v1(
  "StorageOSPersistentVolumeSource",
  "A volume of StorageOS.",
  {
    volumeName: plain(1, string, "Name of the volume."),
    volumeNamespace: plain(2, string, "Namespace of the volume; else that of the pod."),
    fsType: plain(3, string, fileSystem),
    readOnly: plain(4, bool, readOnly),
    secretRef: optional(5, objectReference, "Secret for access to StorageOS."),
  },
);

const csiPersistentVolumeSource = v1("CSIPersistentVolumeSource", "A volume of a CSI driver.", {
  driver: always(1, string, "Name of the driver."),
  volumeHandle: always(2, string, "What the driver calls the volume."),
  readOnly: plain(3, bool, "Publish it read-only."),
  fsType: plain(4, string, fileSystem),
  volumeAttributes: plain(5, map(string), "More about the volume, for the driver."),
  controllerPublishSecretRef: optional(6, secretReference, "Secret for attaching."),
  nodeStageSecretRef: optional(7, secretReference, "Secret for the first mount on a node."),
  nodePublishSecretRef: optional(8, secretReference, "Secret for mounting."),
  controllerExpandSecretRef: optional(9, secretReference, "Secret for growing; can be added once."),
  nodeExpandSecretRef: optional(10, secretReference, "Secret for growing on the node."),
});

export const persistentVolumeSource = v1(
  "PersistentVolumeSource",
  "Where the contents come from; one source only.",
  {
    gcePersistentDisk: optional(1, gcePersistentDiskVolumeSource, "A disk of Google Cloud."),
    awsElasticBlockStore: optional(2, awsElasticBlockStoreVolumeSource, "A disk of AWS."),
    hostPath: optional(3, hostPathVolumeSource, "A path of the node, for tests."),
    glusterfs: optional(4, glusterfsPersistentVolumeSource, "A volume of Glusterfs."),
    nfs: optional(5, nfsVolumeSource, "A directory of an NFS server."),
    rbd: optional(6, rbdPersistentVolumeSource, "A block device of Ceph."),
    iscsi: optional(7, iscsiPersistentVolumeSource, "A disk over iSCSI."),
    cinder: optional(8, cinderPersistentVolumeSource, "A volume of OpenStack Cinder."),
    cephfs: optional(9, cephFSPersistentVolumeSource, "A file system of Ceph."),
    fc: optional(10, fcVolumeSource, "A Fibre Channel disk."),
    flocker: optional(11, flockerVolumeSource, "A dataset of Flocker."),
    flexVolume: optional(12, flexPersistentVolumeSource, "A volume of a plug-in."),
    azureFile: optional(13, azureFilePersistentVolumeSource, "A share of Azure."),
    vsphereVolume: optional(14, vsphereVirtualDiskVolumeSource, "A virtual disk of vSphere."),
    quobyte: optional(15, quobyteVolumeSource, "A Quobyte volume."),
    azureDisk: optional(16, azureDiskVolumeSource, "A data disk of Azure."),
    photonPersistentDisk: optional(17, photonPersistentDiskVolumeSource, "A disk of Photon."),
    portworxVolume: optional(18, portworxVolumeSource, "A Portworx volume."),
    scaleIO: optional(19, scaleIOPersistentVolumeSource, "A volume of ScaleIO."),
    local: optional(20, localVolumeSource, "A disk or directory of one node."),
    storageos: optional(21, storageOSPersistentVolumeSource, "A volume of StorageOS."),
    csi: optional(22, csiPersistentVolumeSource, "A volume of a CSI driver."),
  },
);

export type PersistentVolumeSource = Infer<typeof persistentVolumeSource>;
