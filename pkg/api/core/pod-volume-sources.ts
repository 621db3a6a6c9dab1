/** Storage that is named in a pod directly. */
import {
  always,
  bool,
  int32,
  list,
  map,
  named,
  nullable,
  optional,
  plain,
  string,
  structs,
} from "#schema";
import { quantity } from "#meta";
import { localObjectReference } from "./references.ts";

const v1 = structs("api/core/v1");

export const emptyDirVolumeSource = v1(
  "EmptyDirVolumeSource",
  "An empty directory that lives as long as the pod.",
  {
    medium: plain(
      1,
      named("v1.StorageMedium"),
      "What backs it: empty for the node's disk, Memory, or HugePages with a size.",
    ),
    sizeLimit: optional(2, quantity, "How large it may grow."),
  },
);

export const gitRepoVolumeSource = v1(
  "GitRepoVolumeSource",
  "A clone of a git repository; deprecated.",
  {
    repository: always(1, string, "URL of the repository."),
    revision: plain(2, string, "Commit to check out."),
    directory: plain(3, string, "Directory to clone into, below the volume."),
  },
);

export const iscsiVolumeSource = v1("ISCSIVolumeSource", "An iSCSI disk.", {
  targetPortal: always(1, string, "IP of the portal, with a port if it is not the usual one."),
  iqn: always(2, string, "Qualified name of the target."),
  lun: always(3, int32, "Number of the logical unit."),
  iscsiInterface: plain(4, string, "Interface that carries the traffic.", { default: "default" }),
  fsType: plain(5, string, "File system to mount, as in ext4."),
  readOnly: plain(6, bool, "Mount it read-only."),
  portals: plain(7, list(string), "Further portals.", { listType: "atomic" }),
  chapAuthDiscovery: plain(8, bool, "Authenticate discovery by CHAP."),
  chapAuthSession: plain(11, bool, "Authenticate the session by CHAP."),
  secretRef: optional(10, localObjectReference, "Secret with the CHAP credentials."),
  initiatorName: optional(12, string, "Name of the initiator, if not the node's own."),
});

export const glusterfsVolumeSource = v1("GlusterfsVolumeSource", "A Glusterfs volume.", {
  endpoints: always(1, string, "Endpoints object that lists the servers."),
  path: always(2, string, "Name of the volume."),
  readOnly: plain(3, bool, "Mount it read-only."),
});

export const persistentVolumeClaimVolumeSource = v1(
  "PersistentVolumeClaimVolumeSource",
  "The volume bound to a claim in the pod's namespace.",
  {
    claimName: always(1, string, "Name of the claim."),
    readOnly: plain(2, bool, "Mount it read-only everywhere."),
  },
);

export const rbdVolumeSource = v1("RBDVolumeSource", "A Ceph block device.", {
  monitors: always(1, list(string), "Ceph monitors.", { listType: "atomic" }),
  image: always(2, string, "Name of the image."),
  fsType: plain(3, string, "File system to mount, as in ext4."),
  pool: plain(4, string, "Pool of the image.", { default: "rbd" }),
  user: plain(5, string, "User to sign in as.", { default: "admin" }),
  keyring: plain(6, string, "Path of the key ring.", { default: "/etc/ceph/keyring" }),
  secretRef: optional(
    7,
    localObjectReference,
    "Secret with the key; takes the place of the key ring.",
  ),
  readOnly: plain(8, bool, "Mount it read-only."),
});

export const flexVolumeSource = v1(
  "FlexVolumeSource",
  "A volume that a driver program on the node provides; deprecated.",
  {
    driver: always(1, string, "Name of the driver."),
    fsType: plain(2, string, "File system to mount; the driver has a default."),
    secretRef: optional(3, localObjectReference, "Secret that is given to the driver."),
    readOnly: plain(4, bool, "Mount it read-only."),
    options: plain(5, map(string), "Further options for the driver."),
  },
);

export const cinderVolumeSource = v1("CinderVolumeSource", "A volume of OpenStack Cinder.", {
  volumeID: always(1, string, "ID of the volume."),
  fsType: plain(2, string, "File system to mount, as in ext4."),
  readOnly: plain(3, bool, "Mount it read-only."),
  secretRef: optional(4, localObjectReference, "Secret with the credentials of OpenStack."),
});

export const cephFSVolumeSource = v1("CephFSVolumeSource", "A Ceph file system.", {
  monitors: always(1, list(string), "Ceph monitors.", { listType: "atomic" }),
  path: plain(2, string, "Directory to mount; the root by default."),
  user: plain(3, string, "User to sign in as; admin by default."),
  secretFile: plain(4, string, "Path of the key ring."),
  secretRef: optional(
    5,
    localObjectReference,
    "Secret with the key; takes the place of the key ring.",
  ),
  readOnly: plain(6, bool, "Mount it read-only."),
});

export const azureFileVolumeSource = v1("AzureFileVolumeSource", "A file share of Azure.", {
  secretName: always(1, string, "Secret with the name and key of the storage account."),
  shareName: always(2, string, "Name of the share."),
  readOnly: plain(3, bool, "Mount it read-only."),
});

export const scaleIOVolumeSource = v1("ScaleIOVolumeSource", "A ScaleIO volume.", {
  gateway: always(1, string, "Address of the API gateway."),
  system: always(2, string, "Name of the storage system."),
  secretRef: nullable(3, localObjectReference, "Secret with the credentials."),
  sslEnabled: plain(4, bool, "Speak TLS with the gateway."),
  protectionDomain: plain(5, string, "Protection domain of the volume."),
  storagePool: plain(6, string, "Storage pool of the domain."),
  storageMode: plain(7, string, "ThickProvisioned or ThinProvisioned.", {
    default: "ThinProvisioned",
  }),
  volumeName: plain(8, string, "Name of a volume that exists already."),
  fsType: plain(9, string, "File system to mount, as in xfs.", { default: "xfs" }),
  readOnly: plain(10, bool, "Mount it read-only."),
});

export const storageOSVolumeSource = v1("StorageOSVolumeSource", "A StorageOS volume.", {
  volumeName: plain(1, string, "Name of the volume within its namespace."),
  volumeNamespace: plain(2, string, "Namespace of the volume within StorageOS."),
  fsType: plain(3, string, "File system to mount, as in ext4."),
  readOnly: plain(4, bool, "Mount it read-only."),
  secretRef: optional(5, localObjectReference, "Secret with the credentials."),
});

export const csiVolumeSource = v1(
  "CSIVolumeSource",
  "A volume that a CSI driver makes for this pod alone.",
  {
    driver: always(1, string, "Name of the driver."),
    readOnly: optional(2, bool, "Mount it read-only."),
    fsType: optional(3, string, "File system to mount; the driver has a default."),
    volumeAttributes: plain(4, map(string), "Settings for the driver."),
    nodePublishSecretRef: optional(
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
    reference: plain(1, string, "Reference of the image, as in a container's `image`."),
    pullPolicy: plain(
      2,
      named("v1.PullPolicy", "Always", "Never", "IfNotPresent"),
      "Always, Never or IfNotPresent.",
    ),
  },
);
