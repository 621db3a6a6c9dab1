/** Storage that is named in a pod directly. */
import {
  required,
  bool,
  int32,
  list,
  map,
  named,
  nullablePointer,
  pointer,
  value,
  string,
  structs,
} from "#schema";
import { quantity } from "#meta";
import { localObjectReference } from "../shared/references.ts";

const v1 = structs("api/core/v1");

export const emptyDirVolumeSource = v1(
  "EmptyDirVolumeSource",
  "An empty directory that lives as long as the pod.",
  {
    medium: value(
      1,
      named("v1.StorageMedium"),
      "What backs it: empty for the node's disk, Memory, or HugePages with a size.",
    ),
    sizeLimit: pointer(2, quantity, "How large it may grow."),
  },
);

export const gitRepoVolumeSource = v1(
  "GitRepoVolumeSource",
  "A clone of a git repository; deprecated.",
  {
    repository: required(1, string, "URL of the repository."),
    revision: value(2, string, "Commit to check out."),
    directory: value(3, string, "Directory to clone into, below the volume."),
  },
);

export const iscsiVolumeSource = v1("ISCSIVolumeSource", "An iSCSI disk.", {
  targetPortal: required(1, string, "IP of the portal, with a port if it is not the usual one."),
  iqn: required(2, string, "Qualified name of the target."),
  lun: required(3, int32, "Number of the logical unit."),
  iscsiInterface: value(4, string, "Interface that carries the traffic.", { default: "default" }),
  fsType: value(5, string, "File system to mount, as in ext4."),
  readOnly: value(6, bool, "Mount it read-only."),
  portals: value(7, list(string), "Further portals.", { listType: "atomic" }),
  chapAuthDiscovery: value(8, bool, "Authenticate discovery by CHAP."),
  chapAuthSession: value(11, bool, "Authenticate the session by CHAP."),
  secretRef: pointer(10, localObjectReference, "Secret with the CHAP credentials."),
  initiatorName: pointer(12, string, "Name of the initiator, if not the node's own."),
});

export const glusterfsVolumeSource = v1("GlusterfsVolumeSource", "A Glusterfs volume.", {
  endpoints: required(1, string, "Endpoints object that lists the servers."),
  path: required(2, string, "Name of the volume."),
  readOnly: value(3, bool, "Mount it read-only."),
});

export const persistentVolumeClaimVolumeSource = v1(
  "PersistentVolumeClaimVolumeSource",
  "The volume bound to a claim in the pod's namespace.",
  {
    claimName: required(1, string, "Name of the claim."),
    readOnly: value(2, bool, "Mount it read-only everywhere."),
  },
);

export const rbdVolumeSource = v1("RBDVolumeSource", "A Ceph block device.", {
  monitors: required(1, list(string), "Ceph monitors.", { listType: "atomic" }),
  image: required(2, string, "Name of the image."),
  fsType: value(3, string, "File system to mount, as in ext4."),
  pool: value(4, string, "Pool of the image.", { default: "rbd" }),
  user: value(5, string, "User to sign in as.", { default: "admin" }),
  keyring: value(6, string, "Path of the key ring.", { default: "/etc/ceph/keyring" }),
  secretRef: pointer(
    7,
    localObjectReference,
    "Secret with the key; takes the place of the key ring.",
  ),
  readOnly: value(8, bool, "Mount it read-only."),
});

export const flexVolumeSource = v1(
  "FlexVolumeSource",
  "A volume that a driver program on the node provides; deprecated.",
  {
    driver: required(1, string, "Name of the driver."),
    fsType: value(2, string, "File system to mount; the driver has a default."),
    secretRef: pointer(3, localObjectReference, "Secret that is given to the driver."),
    readOnly: value(4, bool, "Mount it read-only."),
    options: value(5, map(string), "Further options for the driver."),
  },
);

export const cinderVolumeSource = v1("CinderVolumeSource", "A volume of OpenStack Cinder.", {
  volumeID: required(1, string, "ID of the volume."),
  fsType: value(2, string, "File system to mount, as in ext4."),
  readOnly: value(3, bool, "Mount it read-only."),
  secretRef: pointer(4, localObjectReference, "Secret with the credentials of OpenStack."),
});

export const cephFSVolumeSource = v1("CephFSVolumeSource", "A Ceph file system.", {
  monitors: required(1, list(string), "Ceph monitors.", { listType: "atomic" }),
  path: value(2, string, "Directory to mount; the root by default."),
  user: value(3, string, "User to sign in as; admin by default."),
  secretFile: value(4, string, "Path of the key ring."),
  secretRef: pointer(
    5,
    localObjectReference,
    "Secret with the key; takes the place of the key ring.",
  ),
  readOnly: value(6, bool, "Mount it read-only."),
});

export const azureFileVolumeSource = v1("AzureFileVolumeSource", "A file share of Azure.", {
  secretName: required(1, string, "Secret with the name and key of the storage account."),
  shareName: required(2, string, "Name of the share."),
  readOnly: value(3, bool, "Mount it read-only."),
});

export const scaleIOVolumeSource = v1("ScaleIOVolumeSource", "A ScaleIO volume.", {
  gateway: required(1, string, "Address of the API gateway."),
  system: required(2, string, "Name of the storage system."),
  secretRef: nullablePointer(3, localObjectReference, "Secret with the credentials."),
  sslEnabled: value(4, bool, "Speak TLS with the gateway."),
  protectionDomain: value(5, string, "Protection domain of the volume."),
  storagePool: value(6, string, "Storage pool of the domain."),
  storageMode: value(7, string, "ThickProvisioned or ThinProvisioned.", {
    default: "ThinProvisioned",
  }),
  volumeName: value(8, string, "Name of a volume that exists already."),
  fsType: value(9, string, "File system to mount, as in xfs.", { default: "xfs" }),
  readOnly: value(10, bool, "Mount it read-only."),
});

export const storageOSVolumeSource = v1("StorageOSVolumeSource", "A StorageOS volume.", {
  volumeName: value(1, string, "Name of the volume within its namespace."),
  volumeNamespace: value(2, string, "Namespace of the volume within StorageOS."),
  fsType: value(3, string, "File system to mount, as in ext4."),
  readOnly: value(4, bool, "Mount it read-only."),
  secretRef: pointer(5, localObjectReference, "Secret with the credentials."),
});

export const csiVolumeSource = v1(
  "CSIVolumeSource",
  "A volume that a CSI driver makes for this pod alone.",
  {
    driver: required(1, string, "Name of the driver."),
    readOnly: pointer(2, bool, "Mount it read-only."),
    fsType: pointer(3, string, "File system to mount; the driver has a default."),
    volumeAttributes: value(4, map(string), "Settings for the driver."),
    nodePublishSecretRef: pointer(
      5,
      localObjectReference,
      "Secret that is given to the driver when it publishes the volume.",
    ),
  },
);

export const imageVolumeSource = v1(
  "ImageVolumeSource",
  "The files of an OCI image or artifact, read-only.",
  {
    reference: value(1, string, "Reference of the image, as in a container's `image`."),
    pullPolicy: value(
      2,
      named("v1.PullPolicy", "Always", "Never", "IfNotPresent"),
      "Always, Never or IfNotPresent.",
    ),
  },
);
