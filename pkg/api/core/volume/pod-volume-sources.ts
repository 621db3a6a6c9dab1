/** Volume sources for pods only. */
import { required, bool, map, named, pointer, value, string, structs } from "#schema";
import { quantity } from "#meta";
import { localObjectReference } from "../shared/references.ts";
import {
  cephFSSource,
  cinderSource,
  flexSource,
  iscsiSource,
  rbdSource,
  scaleIOSource,
  storageOSSource,
} from "./secret-volume-sources.ts";

const v1 = structs("api/core/v1");

const inPod = {
  secret: localObjectReference,
  fileSystem: "Filesystem type to mount, for example ext4 or xfs. Treated as ext4 when unset.",
};

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

export const iscsiVolumeSource = iscsiSource("ISCSIVolumeSource", inPod);

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

export const rbdVolumeSource = rbdSource("RBDVolumeSource", inPod);

export const flexVolumeSource = flexSource("FlexVolumeSource", {
  ...inPod,
  fileSystem: "Filesystem type to mount. The driver chooses when unset.",
});

export const cinderVolumeSource = cinderSource("CinderVolumeSource", inPod);

export const cephFSVolumeSource = cephFSSource("CephFSVolumeSource", inPod);

export const azureFileVolumeSource = v1(
  "AzureFileVolumeSource",
  "Azure File share. Deprecated: redirected to the CSI driver of Azure File.",
  {
    secretName: required(1, string, "Secret with name and key of the storage account."),
    shareName: required(2, string, "Name of the file share."),
    readOnly: value(3, bool, "Whether the volume is mounted read-only. Defaults to false."),
  },
);

export const scaleIOVolumeSource = scaleIOSource("ScaleIOVolumeSource", inPod);

export const storageOSVolumeSource = storageOSSource("StorageOSVolumeSource", inPod);

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
