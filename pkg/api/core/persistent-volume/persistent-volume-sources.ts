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

const fileSystem = "File system to mount, as in ext4.";
const readOnly = "Mount it read-only.";

const glusterfsPersistentVolumeSource = v1(
  "GlusterfsPersistentVolumeSource",
  "A volume of Glusterfs.",
  {
    endpoints: required(1, string, "Endpoints with the addresses of the servers."),
    path: required(2, string, "Name of the volume."),
    readOnly: value(3, bool, readOnly),
    endpointsNamespace: pointer(4, string, "Namespace of the endpoints; else that of the claim."),
  },
);

const rbdPersistentVolumeSource = v1("RBDPersistentVolumeSource", "A block device of Ceph.", {
  monitors: required(1, list(string), "Monitors of the Ceph cluster.", { listType: "atomic" }),
  image: required(2, string, "Name of the image."),
  fsType: value(3, string, fileSystem),
  pool: value(4, string, "Pool of the image.", { default: "rbd" }),
  user: value(5, string, "User of Ceph.", { default: "admin" }),
  keyring: value(6, string, "Path of the user's keyring.", { default: "/etc/ceph/keyring" }),
  secretRef: pointer(7, secretReference, "Secret of the user, in place of the keyring."),
  readOnly: value(8, bool, readOnly),
});

const iscsiPersistentVolumeSource = v1("ISCSIPersistentVolumeSource", "A disk over iSCSI.", {
  targetPortal: required(1, string, "Address of the target, with a port unless it is 3260."),
  iqn: required(2, string, "Qualified name of the target."),
  lun: required(3, int32, "Number of the logical unit."),
  iscsiInterface: value(4, string, "Interface that is used.", { default: "default" }),
  fsType: value(5, string, fileSystem),
  readOnly: value(6, bool, readOnly),
  portals: value(7, list(string), "More addresses of the target.", { listType: "atomic" }),
  chapAuthDiscovery: value(8, bool, "Discovery is authenticated by CHAP."),
  chapAuthSession: value(11, bool, "Sessions are authenticated by CHAP."),
  secretRef: pointer(10, secretReference, "Secret for CHAP."),
  initiatorName: pointer(12, string, "Name of the initiator, for an interface of its own."),
});

const cinderPersistentVolumeSource = v1(
  "CinderPersistentVolumeSource",
  "A volume of OpenStack Cinder.",
  {
    volumeID: required(1, string, "ID of the volume."),
    fsType: value(2, string, fileSystem),
    readOnly: value(3, bool, readOnly),
    secretRef: pointer(4, secretReference, "Secret for access to OpenStack."),
  },
);

const cephFSPersistentVolumeSource = v1("CephFSPersistentVolumeSource", "A file system of Ceph.", {
  monitors: required(1, list(string), "Monitors of the Ceph cluster.", { listType: "atomic" }),
  path: value(2, string, "Directory that is mounted; the root unless set."),
  user: value(3, string, "User of Ceph; admin unless set."),
  secretFile: value(4, string, "Path of the user's keyring."),
  secretRef: pointer(5, secretReference, "Secret of the user, in place of the keyring."),
  readOnly: value(6, bool, readOnly),
});

const flexPersistentVolumeSource = v1("FlexPersistentVolumeSource", "A volume of a plug-in.", {
  driver: required(1, string, "Name of the driver."),
  fsType: value(2, string, fileSystem),
  secretRef: pointer(3, secretReference, "Secret that the driver gets."),
  readOnly: value(4, bool, readOnly),
  options: value(5, map(string), "More options for the driver."),
});

const azureFilePersistentVolumeSource = v1("AzureFilePersistentVolumeSource", "A share of Azure.", {
  secretName: required(1, string, "Secret with the name and key of the account."),
  shareName: required(2, string, "Name of the share."),
  readOnly: value(3, bool, readOnly),
  secretNamespace: nullablePointer(4, string, "Namespace of the Secret; else that of the pod.", {
    required: false,
  }),
});

const scaleIOPersistentVolumeSource = v1("ScaleIOPersistentVolumeSource", "A volume of ScaleIO.", {
  gateway: required(1, string, "Address of the gateway."),
  system: required(2, string, "Name of the storage system."),
  secretRef: nullablePointer(3, secretReference, "Secret of the user."),
  sslEnabled: value(4, bool, "Whether the gateway is spoken to over TLS."),
  protectionDomain: value(5, string, "Name of the protection domain."),
  storagePool: value(6, string, "Storage pool of the domain."),
  storageMode: value(7, string, "ThickProvisioned or ThinProvisioned.", {
    default: "ThinProvisioned",
  }),
  volumeName: value(8, string, "Name of the volume."),
  fsType: value(9, string, fileSystem, { default: "xfs" }),
  readOnly: value(10, bool, readOnly),
});

const localVolumeSource = v1("LocalVolumeSource", "A disk or directory of one node.", {
  path: required(1, string, "Path on the node."),
  fsType: pointer(2, string, "File system to mount, if the path is a block device."),
});

const storageOSPersistentVolumeSource = v1(
  "StorageOSPersistentVolumeSource",
  "A volume of StorageOS.",
  {
    volumeName: value(1, string, "Name of the volume."),
    volumeNamespace: value(2, string, "Namespace of the volume; else that of the pod."),
    fsType: value(3, string, fileSystem),
    readOnly: value(4, bool, readOnly),
    secretRef: pointer(5, objectReference, "Secret for access to StorageOS."),
  },
);

const csiPersistentVolumeSource = v1("CSIPersistentVolumeSource", "A volume of a CSI driver.", {
  driver: required(1, string, "Name of the driver."),
  volumeHandle: required(2, string, "What the driver calls the volume."),
  readOnly: value(3, bool, "Publish it read-only."),
  fsType: value(4, string, fileSystem),
  volumeAttributes: value(5, map(string), "More about the volume, for the driver."),
  controllerPublishSecretRef: pointer(6, secretReference, "Secret for attaching."),
  nodeStageSecretRef: pointer(7, secretReference, "Secret for the first mount on a node."),
  nodePublishSecretRef: pointer(8, secretReference, "Secret for mounting."),
  controllerExpandSecretRef: pointer(9, secretReference, "Secret for growing; can be added once."),
  nodeExpandSecretRef: pointer(10, secretReference, "Secret for growing on the node."),
});

export const persistentVolumeSource = v1(
  "PersistentVolumeSource",
  "Where the contents come from; one source only.",
  {
    gcePersistentDisk: pointer(1, gcePersistentDiskVolumeSource, "A disk of Google Cloud."),
    awsElasticBlockStore: pointer(2, awsElasticBlockStoreVolumeSource, "A disk of AWS."),
    hostPath: pointer(3, hostPathVolumeSource, "A path of the node, for tests."),
    glusterfs: pointer(4, glusterfsPersistentVolumeSource, "A volume of Glusterfs."),
    nfs: pointer(5, nfsVolumeSource, "A directory of an NFS server."),
    rbd: pointer(6, rbdPersistentVolumeSource, "A block device of Ceph."),
    iscsi: pointer(7, iscsiPersistentVolumeSource, "A disk over iSCSI."),
    cinder: pointer(8, cinderPersistentVolumeSource, "A volume of OpenStack Cinder."),
    cephfs: pointer(9, cephFSPersistentVolumeSource, "A file system of Ceph."),
    fc: pointer(10, fcVolumeSource, "A Fibre Channel disk."),
    flocker: pointer(11, flockerVolumeSource, "A dataset of Flocker."),
    flexVolume: pointer(12, flexPersistentVolumeSource, "A volume of a plug-in."),
    azureFile: pointer(13, azureFilePersistentVolumeSource, "A share of Azure."),
    vsphereVolume: pointer(14, vsphereVirtualDiskVolumeSource, "A virtual disk of vSphere."),
    quobyte: pointer(15, quobyteVolumeSource, "A Quobyte volume."),
    azureDisk: pointer(16, azureDiskVolumeSource, "A data disk of Azure."),
    photonPersistentDisk: pointer(17, photonPersistentDiskVolumeSource, "A disk of Photon."),
    portworxVolume: pointer(18, portworxVolumeSource, "A Portworx volume."),
    scaleIO: pointer(19, scaleIOPersistentVolumeSource, "A volume of ScaleIO."),
    local: pointer(20, localVolumeSource, "A disk or directory of one node."),
    storageos: pointer(21, storageOSPersistentVolumeSource, "A volume of StorageOS."),
    csi: pointer(22, csiPersistentVolumeSource, "A volume of a CSI driver."),
  },
);

export type PersistentVolumeSource = Infer<typeof persistentVolumeSource>;
