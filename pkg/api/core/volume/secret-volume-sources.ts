/**
 * Volume sources with a Secret reference: pods refer to their namespace, PersistentVolumes to any.
 */
import {
  bool,
  int32,
  list,
  map,
  nullablePointer,
  pointer,
  required,
  string,
  structs,
  type Type,
  value,
} from "#schema";

const v1 = structs("api/core/v1");

interface Particulars<S extends Type> {
  /** Type of the reference to the Secret. */
  readonly secret: S;
  /** Description of fsType. */
  readonly fileSystem: string;
}

const readOnly = "Whether the volume is mounted read-only. Defaults to false.";

export function iscsiSource<S extends Type>(name: string, { secret, fileSystem }: Particulars<S>) {
  return v1(name, "iSCSI disk, which can be mounted read-write by a single node at a time.", {
    targetPortal: required(
      1,
      string,
      "Portal of the target as host, or host:port if the port is not 3260.",
    ),
    iqn: required(2, string, "iSCSI qualified name of the target, in iqn, eui or naa format."),
    lun: required(3, int32, "Logical unit number of the target, 0 to 255."),
    iscsiInterface: value(4, string, "iSCSI interface to use. Defaults to default (TCP).", {
      default: "default",
      openApi: { default: true },
    }),
    fsType: value(5, string, fileSystem),
    readOnly: value(6, bool, readOnly),
    portals: value(
      7,
      list(string),
      "Additional portals of the target, for multipathing. Each as host, or host:port if the " +
        "port is not 3260.",
      {
        listType: "atomic",
      },
    ),
    chapAuthDiscovery: value(
      8,
      bool,
      "Whether discovery uses CHAP authentication. Requires secretRef. Defaults to false.",
    ),
    chapAuthSession: value(
      11,
      bool,
      "Whether sessions use CHAP authentication. Requires secretRef. Defaults to false.",
    ),
    secretRef: pointer(10, secret, "Secret with the CHAP credentials."),
    initiatorName: pointer(
      12,
      string,
      "Custom iSCSI initiator name. If iscsiInterface is also set, a new interface " +
        "`<portal>:<volume>` is created for the connection.",
    ),
  });
}

export function rbdSource<S extends Type>(name: string, { secret, fileSystem }: Particulars<S>) {
  return v1(name, "Ceph RBD image. Deprecated: the in-tree driver was removed in v1.31.", {
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
      secret,
      "Secret with the key of the user. Takes precedence over keyring.",
    ),
    readOnly: value(8, bool, readOnly),
  });
}

export function flexSource<S extends Type>(name: string, { secret, fileSystem }: Particulars<S>) {
  return v1(
    name,
    "Volume of an exec-based FlexVolume plugin on the node. Deprecated: use a CSI driver.",
    {
      driver: required(1, string, "Name of the FlexVolume driver."),
      fsType: value(2, string, fileSystem),
      secretRef: pointer(3, secret, "Secret whose data is passed to the driver."),
      readOnly: value(4, bool, readOnly),
      options: value(5, map(string), "Additional options for the driver."),
    },
  );
}

export function cinderSource<S extends Type>(name: string, { secret, fileSystem }: Particulars<S>) {
  return v1(
    name,
    "OpenStack Cinder volume. Deprecated: all operations are redirected to the CSI driver " +
      "cinder.csi.openstack.org.",
    {
      volumeID: required(1, string, "ID of the Cinder volume."),
      fsType: value(2, string, fileSystem),
      readOnly: value(3, bool, readOnly),
      secretRef: pointer(4, secret, "Secret with the OpenStack credentials."),
    },
  );
}

export function cephFSSource<S extends Type>(name: string, { secret }: Particulars<S>) {
  return v1(name, "CephFS mount. Deprecated: the in-tree driver was removed in v1.31.", {
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
      secret,
      "Secret with the key of the user. Takes precedence over secretFile.",
    ),
    readOnly: value(6, bool, readOnly),
  });
}

export function scaleIOSource<S extends Type>(name: string, { secret }: Particulars<S>) {
  return v1(name, "ScaleIO volume. Deprecated: the in-tree driver was removed in v1.22.", {
    gateway: required(1, string, "Address of the API gateway."),
    system: required(2, string, "Name of the storage system."),
    secretRef: nullablePointer(3, secret, "Secret with the credentials of the gateway. Required."),
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
  });
}

export function storageOSSource<S extends Type>(
  name: string,
  { secret, fileSystem }: Particulars<S>,
) {
  return v1(name, "StorageOS volume. Deprecated: the in-tree driver was removed in v1.25.", {
    volumeName: value(1, string, "Name of the volume, unique within its namespace."),
    volumeNamespace: value(
      2,
      string,
      "Namespace of the volume within StorageOS. Defaults to that of the pod.",
    ),
    fsType: value(3, string, fileSystem),
    readOnly: value(4, bool, readOnly),
    secretRef: pointer(5, secret, "Secret with the credentials of the StorageOS API."),
  });
}
