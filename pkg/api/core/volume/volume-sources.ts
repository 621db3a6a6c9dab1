/** Volume sources that pods and PersistentVolumes share. */
import { required, bool, int32, list, named, pointer, value, string, structs } from "#schema";

const v1 = structs("api/core/v1");

export const hostPathVolumeSource = v1(
  "HostPathVolumeSource",
  "File or directory on the host. It gives containers access to the node's filesystem, which " +
    "is a security risk: restrict its use.",
  {
    path: required(
      1,
      string,
      "Path on the host. A symbolic link is followed to the real path. Must not contain `..`.",
    ),
    type: pointer(
      2,
      named(
        "v1.HostPathType",
        "DirectoryOrCreate",
        "Directory",
        "FileOrCreate",
        "File",
        "Socket",
        "CharDevice",
        "BlockDevice",
      ),
      'Check before mounting: "" for none, or one of DirectoryOrCreate, Directory, ' +
        'FileOrCreate, File, Socket, CharDevice, BlockDevice. Defaults to "".',
      {
        openApi: {
          enum: [
            "",
            "BlockDevice",
            "CharDevice",
            "Directory",
            "DirectoryOrCreate",
            "File",
            "FileOrCreate",
            "Socket",
          ],
        },
      },
    ),
  },
);

export const gcePersistentDiskVolumeSource = v1(
  "GCEPersistentDiskVolumeSource",
  "Google Compute Engine persistent disk, in the project and zone of the node. Deprecated: all " +
    "operations are redirected to the CSI driver pd.csi.storage.gke.io.",
  {
    pdName: required(1, string, "Name of the persistent disk."),
    fsType: value(
      2,
      string,
      "Filesystem type to mount, for example ext4 or xfs. Treated as ext4 when unset.",
    ),
    partition: value(
      3,
      int32,
      "Partition to mount, 1 to 255. 0 or absent mounts the disk as a whole.",
    ),
    readOnly: value(4, bool, "Whether the volume is mounted read-only. Defaults to false."),
  },
);

export const awsElasticBlockStoreVolumeSource = v1(
  "AWSElasticBlockStoreVolumeSource",
  "Amazon EBS volume, in the availability zone of the node. Deprecated: all operations are " +
    "redirected to the CSI driver ebs.csi.aws.com.",
  {
    volumeID: required(1, string, "ID of the EBS volume."),
    fsType: value(
      2,
      string,
      "Filesystem type to mount, for example ext4 or xfs. Treated as ext4 when unset.",
    ),
    partition: value(
      3,
      int32,
      "Partition to mount, 1 to 255. 0 or absent mounts the volume as a whole.",
    ),
    readOnly: value(4, bool, "Whether the volume is mounted read-only. Defaults to false."),
  },
);

export const nfsVolumeSource = v1(
  "NFSVolumeSource",
  "NFS export, which outlives the pods that mount it.",
  {
    server: required(1, string, "Host name or IP address of the server."),
    path: required(2, string, "Absolute path that the server exports."),
    readOnly: value(3, bool, "Whether the export is mounted read-only. Defaults to false."),
  },
);

export const fcVolumeSource = v1(
  "FCVolumeSource",
  "Fibre Channel volume, identified either by targetWWNs and lun or by wwids.",
  {
    targetWWNs: value(
      1,
      list(string),
      "World Wide Names of the targets. Requires lun. Mutually exclusive with wwids.",
      { listType: "atomic" },
    ),
    lun: pointer(
      2,
      int32,
      "Logical unit number of the target, 0 to 255. Required with targetWWNs.",
    ),
    fsType: value(
      3,
      string,
      "Filesystem type to mount, for example ext4 or xfs. Treated as ext4 when unset.",
    ),
    readOnly: value(4, bool, "Whether the volume is mounted read-only. Defaults to false."),
    wwids: value(
      5,
      list(string),
      "World Wide Identifiers of the volume. Mutually exclusive with targetWWNs and lun.",
      {
        listType: "atomic",
      },
    ),
  },
);

export const flockerVolumeSource = v1(
  "FlockerVolumeSource",
  "Flocker dataset. Deprecated: the in-tree driver was removed in v1.25.",
  {
    datasetName: value(
      1,
      string,
      "Name of the dataset. Deprecated: use datasetUUID. Mutually exclusive with datasetUUID.",
    ),
    datasetUUID: value(2, string, "UUID of the dataset. Mutually exclusive with datasetName."),
  },
);

export const vsphereVirtualDiskVolumeSource = v1(
  "VsphereVirtualDiskVolumeSource",
  "vSphere virtual disk. Deprecated: all operations are redirected to the CSI driver " +
    "csi.vsphere.vmware.com.",
  {
    volumePath: required(1, string, "Path of the VMDK on the datastore."),
    fsType: value(
      2,
      string,
      "Filesystem type to mount, for example ext4 or xfs. Treated as ext4 when unset.",
    ),
    storagePolicyName: value(3, string, "Name of the storage policy profile."),
    storagePolicyID: value(
      4,
      string,
      "ID of the storage policy profile that storagePolicyName names.",
    ),
  },
);

export const quobyteVolumeSource = v1(
  "QuobyteVolumeSource",
  "Quobyte volume. Deprecated: the in-tree driver was removed in v1.25.",
  {
    registry: required(1, string, "Registry addresses as host:port, separated by commas."),
    volume: required(2, string, "Name of an existing Quobyte volume."),
    readOnly: value(3, bool, "Whether the volume is mounted read-only. Defaults to false."),
    user: value(
      4,
      string,
      "User on whose behalf the volume is accessed. Defaults to the service account user.",
    ),
    group: value(5, string, "Group on whose behalf the volume is accessed. Defaults to no group."),
    tenant: value(
      6,
      string,
      "Tenant that owns the volume in the backend. Set by the provisioner of dynamically " +
        "provisioned volumes.",
    ),
  },
);

export const azureDiskVolumeSource = v1(
  "AzureDiskVolumeSource",
  "Azure data disk. Deprecated: all operations are redirected to the CSI driver " +
    "disk.csi.azure.com.",
  {
    diskName: required(1, string, "Name of the data disk."),
    diskURI: required(
      2,
      string,
      "URI of the data disk: a blob for kinds Shared and Dedicated, a resource ID for Managed.",
    ),
    cachingMode: pointer(
      3,
      named("v1.AzureDataDiskCachingMode", "None", "ReadOnly", "ReadWrite"),
      "Host caching: one of None, ReadOnly, ReadWrite. Defaults to ReadWrite.",
      { default: "ReadWrite", openApi: { default: true } },
    ),
    fsType: pointer(4, string, "Filesystem type to mount. Defaults to ext4.", {
      default: "ext4",
      openApi: { default: true },
    }),
    readOnly: pointer(5, bool, "Whether the volume is mounted read-only. Defaults to false.", {
      default: false,
      openApi: { default: true },
    }),
    kind: pointer(
      6,
      named("v1.AzureDataDiskKind", "Shared", "Dedicated", "Managed"),
      "Kind of disk. One of Shared (several disks per storage account), Dedicated (one disk " +
        "per storage account), Managed. Defaults to Shared.",
      { default: "Shared", openApi: { default: true } },
    ),
  },
);

export const photonPersistentDiskVolumeSource = v1(
  "PhotonPersistentDiskVolumeSource",
  "Photon Controller persistent disk. Deprecated: the in-tree driver was removed.",
  {
    pdID: required(1, string, "ID of the persistent disk."),
    fsType: value(
      2,
      string,
      "Filesystem type to mount, for example ext4 or xfs. Treated as ext4 when unset.",
    ),
  },
);

export const portworxVolumeSource = v1(
  "PortworxVolumeSource",
  "Portworx volume. Deprecated: all operations are redirected to the CSI driver pxd.portworx.com.",
  {
    volumeID: required(1, string, "ID of the Portworx volume."),
    fsType: value(
      2,
      string,
      "Filesystem type to mount, for example ext4 or xfs. Treated as ext4 when unset.",
    ),
    readOnly: value(3, bool, "Whether the volume is mounted read-only. Defaults to false."),
  },
);
