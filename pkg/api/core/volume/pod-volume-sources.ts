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
  "Temporary directory that is initially empty and shares the lifetime of the pod.",
  {
    medium: value(
      1,
      named("v1.StorageMedium"),
      'Storage behind the directory: "" for the disk of the node, Memory for tmpfs, ' +
        'HugePages or HugePages-<size>. Defaults to "".',
    ),
    sizeLimit: pointer(
      2,
      quantity,
      "Size above which the pod is evicted. With medium Memory the lower of this and the " +
        "memory limits applies. Unlimited when absent.",
    ),
  },
);

export const gitRepoVolumeSource = v1(
  "GitRepoVolumeSource",
  "Clone of a git repository. Deprecated: disabled by default; clone in an init " +
    "container into an emptyDir instead.",
  {
    repository: required(1, string, "URL of the git repository."),
    revision: value(2, string, "Commit hash to check out."),
    directory: value(
      3,
      string,
      "Target directory within the volume, without `..`. `.` clones into the root of the volume.",
    ),
  },
);

export const iscsiVolumeSource = v1(
  "ISCSIVolumeSource",
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
    fsType: value(
      5,
      string,
      "Filesystem type to mount, ext4 or xfs for example. Treated as ext4 when unset.",
    ),
    readOnly: value(6, bool, "Whether the volume is mounted read-only. Defaults to false."),
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
    secretRef: pointer(
      10,
      localObjectReference,
      "Secret with the CHAP credentials, in the namespace of the pod.",
    ),
    initiatorName: pointer(
      12,
      string,
      "Name of the initiator. When set together with iscsiInterface, a new interface " +
        "`<portal>:<volume>` is created for the connection.",
    ),
  },
);

export const glusterfsVolumeSource = v1(
  "GlusterfsVolumeSource",
  "Glusterfs volume. Deprecated: the in-tree driver was removed in v1.26.",
  {
    endpoints: required(1, string, "Name of the Endpoints object that lists the servers."),
    path: required(2, string, "Name of the Glusterfs volume."),
    readOnly: value(3, bool, "Whether the volume is mounted read-only. Defaults to false."),
  },
);

export const persistentVolumeClaimVolumeSource = v1(
  "PersistentVolumeClaimVolumeSource",
  "Reference to a claim, whose bound volume is mounted.",
  {
    claimName: required(1, string, "Name of a PersistentVolumeClaim in the namespace of the pod."),
    readOnly: value(2, bool, "Whether all mounts of the volume are read-only. Defaults to false."),
  },
);

export const rbdVolumeSource = v1(
  "RBDVolumeSource",
  "Ceph RBD image. Deprecated: the in-tree driver was removed in v1.31.",
  {
    monitors: required(1, list(string), "Addresses of the Ceph monitors.", { listType: "atomic" }),
    image: required(2, string, "Name of the RBD image."),
    fsType: value(
      3,
      string,
      "Filesystem type to mount, ext4 or xfs for example. Treated as ext4 when unset.",
    ),
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
      localObjectReference,
      "Secret with the key of the user. Takes precedence over keyring.",
    ),
    readOnly: value(8, bool, "Whether the volume is mounted read-only. Defaults to false."),
  },
);

export const flexVolumeSource = v1(
  "FlexVolumeSource",
  "Volume of an exec-based plugin on the nodes. Deprecated: use a CSI driver.",
  {
    driver: required(1, string, "Name of the plugin driver."),
    fsType: value(2, string, "Filesystem type to mount. The driver chooses when unset."),
    secretRef: pointer(3, localObjectReference, "Secret whose data is passed to the driver."),
    readOnly: value(4, bool, "Whether the volume is mounted read-only. Defaults to false."),
    options: value(5, map(string), "Additional options for the driver."),
  },
);

export const cinderVolumeSource = v1(
  "CinderVolumeSource",
  "OpenStack Cinder volume. Deprecated: redirected to the CSI driver of Cinder.",
  {
    volumeID: required(1, string, "ID of the Cinder volume."),
    fsType: value(
      2,
      string,
      "Filesystem type to mount, ext4 or xfs for example. Treated as ext4 when unset.",
    ),
    readOnly: value(3, bool, "Whether the volume is mounted read-only. Defaults to false."),
    secretRef: pointer(4, localObjectReference, "Secret with the OpenStack credentials."),
  },
);

export const cephFSVolumeSource = v1(
  "CephFSVolumeSource",
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
      localObjectReference,
      "Secret with the key of the user. Takes precedence over secretFile.",
    ),
    readOnly: value(6, bool, "Whether the volume is mounted read-only. Defaults to false."),
  },
);

export const azureFileVolumeSource = v1(
  "AzureFileVolumeSource",
  "Azure File share. Deprecated: redirected to the CSI driver of Azure File.",
  {
    secretName: required(1, string, "Secret with name and key of the storage account."),
    shareName: required(2, string, "Name of the file share."),
    readOnly: value(3, bool, "Whether the volume is mounted read-only. Defaults to false."),
  },
);

export const scaleIOVolumeSource = v1(
  "ScaleIOVolumeSource",
  "ScaleIO volume. Deprecated: the in-tree driver was removed in v1.22.",
  {
    gateway: required(1, string, "Address of the API gateway."),
    system: required(2, string, "Name of the storage system."),
    secretRef: nullablePointer(
      3,
      localObjectReference,
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
    readOnly: value(10, bool, "Whether the volume is mounted read-only. Defaults to false."),
  },
);

export const storageOSVolumeSource = v1(
  "StorageOSVolumeSource",
  "StorageOS volume. Deprecated: the in-tree driver was removed in v1.25.",
  {
    volumeName: value(1, string, "Name of the volume, unique within its namespace."),
    volumeNamespace: value(
      2,
      string,
      "Namespace of the volume within StorageOS. Defaults to that of the pod.",
    ),
    fsType: value(
      3,
      string,
      "Filesystem type to mount, ext4 or xfs for example. Treated as ext4 when unset.",
    ),
    readOnly: value(4, bool, "Whether the volume is mounted read-only. Defaults to false."),
    secretRef: pointer(
      5,
      localObjectReference,
      "Secret with the credentials of the StorageOS API.",
    ),
  },
);

export const csiVolumeSource = v1(
  "CSIVolumeSource",
  "Ephemeral volume of a CSI driver that shares the lifetime of the pod. The driver must " +
    "support mode Ephemeral.",
  {
    driver: required(1, string, "Name of the CSI driver, as in its CSIDriver object."),
    readOnly: pointer(2, bool, "Whether the volume is mounted read-only. Defaults to false."),
    fsType: pointer(3, string, "Filesystem type to mount. The driver chooses when unset."),
    volumeAttributes: value(
      4,
      map(string),
      "Properties of the volume that are passed to the driver.",
    ),
    nodePublishSecretRef: pointer(
      5,
      localObjectReference,
      "Secret for NodePublishVolume, in the namespace of the pod.",
    ),
  },
);

export const imageVolumeSource = v1(
  "ImageVolumeSource",
  "Content of an OCI image or artifact, mounted read-only.",
  {
    reference: value(
      1,
      string,
      "Reference of the image, as in the image field of containers. Required, although it " +
        "may be empty for defaulting by higher layers.",
    ),
    pullPolicy: value(
      2,
      named("v1.PullPolicy", "Always", "Never", "IfNotPresent"),
      "When to pull the image: one of Always, Never, IfNotPresent. Defaults to Always for " +
        "tag `latest` or no tag, otherwise to IfNotPresent.",
    ),
  },
);
