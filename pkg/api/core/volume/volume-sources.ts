/** Where the contents of a volume come from: sources that pods and PersistentVolumes share. */
import { required, bool, int32, list, named, pointer, value, string, structs } from "#schema";

const v1 = structs("api/core/v1");

export const hostPathVolumeSource = v1(
  "HostPathVolumeSource",
  "A file or directory of the node itself.",
  {
    path: required(1, string, "Path on the node; links are followed."),
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
      "What must be there or is made there; empty means no check.",
    ),
  },
);

export const gcePersistentDiskVolumeSource = v1(
  "GCEPersistentDiskVolumeSource",
  "A disk of Google Compute Engine.",
  {
    pdName: required(1, string, "Name of the disk."),
    fsType: value(2, string, "File system to mount, as in ext4."),
    partition: value(3, int32, "Partition to mount; 0 means the whole disk."),
    readOnly: value(4, bool, "Mount it read-only."),
  },
);

export const awsElasticBlockStoreVolumeSource = v1(
  "AWSElasticBlockStoreVolumeSource",
  "A disk of Amazon Elastic Block Store.",
  {
    volumeID: required(1, string, "ID of the disk."),
    fsType: value(2, string, "File system to mount, as in ext4."),
    partition: value(3, int32, "Partition to mount; 0 means the whole disk."),
    readOnly: value(4, bool, "Mount it read-only."),
  },
);

export const nfsVolumeSource = v1("NFSVolumeSource", "A directory exported by an NFS server.", {
  server: required(1, string, "Host name or IP of the server."),
  path: required(2, string, "Exported path."),
  readOnly: value(3, bool, "Mount it read-only."),
});

export const fcVolumeSource = v1("FCVolumeSource", "A Fibre Channel disk.", {
  targetWWNs: value(1, list(string), "World wide names of the targets.", { listType: "atomic" }),
  lun: pointer(2, int32, "Number of the logical unit."),
  fsType: value(3, string, "File system to mount, as in ext4."),
  readOnly: value(4, bool, "Mount it read-only."),
  wwids: value(5, list(string), "World wide identifiers; instead of targetWWNs and lun.", {
    listType: "atomic",
  }),
});

export const flockerVolumeSource = v1("FlockerVolumeSource", "A dataset of Flocker.", {
  datasetName: value(1, string, "Name of the dataset; deprecated."),
  datasetUUID: value(2, string, "UUID of the dataset."),
});

export const vsphereVirtualDiskVolumeSource = v1(
  "VsphereVirtualDiskVolumeSource",
  "A virtual disk of vSphere.",
  {
    volumePath: required(1, string, "Path of the disk."),
    fsType: value(2, string, "File system to mount, as in ext4."),
    storagePolicyName: value(3, string, "Name of the storage policy profile."),
    storagePolicyID: value(4, string, "ID of the storage policy profile."),
  },
);

export const quobyteVolumeSource = v1("QuobyteVolumeSource", "A Quobyte volume.", {
  registry: required(1, string, "Registry hosts as host:port, separated by commas."),
  volume: required(2, string, "Name of the volume."),
  readOnly: value(3, bool, "Mount it read-only."),
  user: value(4, string, "User to map access to; defaults to the service account."),
  group: value(5, string, "Group to map access to."),
  tenant: value(6, string, "Tenant that owns the volume."),
});

export const azureDiskVolumeSource = v1("AzureDiskVolumeSource", "A data disk of Azure.", {
  diskName: required(1, string, "Name of the disk."),
  diskURI: required(2, string, "URI of the disk."),
  cachingMode: pointer(
    3,
    named("v1.AzureDataDiskCachingMode", "None", "ReadOnly", "ReadWrite"),
    "How the host caches: None, ReadOnly or ReadWrite.",
    { default: "ReadWrite" },
  ),
  fsType: pointer(4, string, "File system to mount, as in ext4.", { default: "ext4" }),
  readOnly: pointer(5, bool, "Mount it read-only.", { default: false }),
  kind: pointer(
    6,
    named("v1.AzureDataDiskKind", "Shared", "Dedicated", "Managed"),
    "Shared, Dedicated or Managed.",
    { default: "Shared" },
  ),
});

export const photonPersistentDiskVolumeSource = v1(
  "PhotonPersistentDiskVolumeSource",
  "A disk of the Photon controller.",
  {
    pdID: required(1, string, "ID of the disk."),
    fsType: value(2, string, "File system to mount, as in ext4."),
  },
);

export const portworxVolumeSource = v1("PortworxVolumeSource", "A Portworx volume.", {
  volumeID: required(1, string, "ID of the volume."),
  fsType: value(2, string, "File system to mount, as in ext4."),
  readOnly: value(3, bool, "Mount it read-only."),
});
