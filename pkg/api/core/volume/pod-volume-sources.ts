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
      'Storage medium of the directory: "" for the default medium of the node, Memory for ' +
        'tmpfs, HugePages or HugePages-<size>. Defaults to "".',
    ),
    sizeLimit: pointer(
      2,
      quantity,
      "Maximum size of the volume. The pod is evicted when it is exceeded; with medium Memory, " +
        "the memory limits of the pod apply as well. Unlimited if absent.",
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
      "Target directory within the volume, without `..`. `.` makes the volume itself the git " +
        "repository.",
    ),
  },
);

export const iscsiVolumeSource = iscsiSource("ISCSIVolumeSource", inPod);

export const glusterfsVolumeSource = v1(
  "GlusterfsVolumeSource",
  "Glusterfs volume. Deprecated: the in-tree driver was removed in v1.26.",
  {
    endpoints: required(
      1,
      string,
      "Name of the Endpoints object that lists the Glusterfs servers.",
    ),
    path: required(2, string, "Name of the Glusterfs volume."),
    readOnly: value(3, bool, "Whether the volume is mounted read-only. Defaults to false."),
  },
);

export const persistentVolumeClaimVolumeSource = v1(
  "PersistentVolumeClaimVolumeSource",
  "Reference to a PersistentVolumeClaim, whose bound volume is mounted.",
  {
    claimName: required(1, string, "Name of a PersistentVolumeClaim in the namespace of the pod."),
    readOnly: value(2, bool, "Whether all mounts of the volume are read-only. Defaults to false."),
  },
);

export const rbdVolumeSource = rbdSource("RBDVolumeSource", inPod);

export const flexVolumeSource = flexSource("FlexVolumeSource", {
  ...inPod,
  fileSystem: "Filesystem type to mount. If empty, the driver determines it.",
});

export const cinderVolumeSource = cinderSource("CinderVolumeSource", inPod);

export const cephFSVolumeSource = cephFSSource("CephFSVolumeSource", inPod);

export const azureFileVolumeSource = v1(
  "AzureFileVolumeSource",
  "Azure File share. Deprecated: all operations are redirected to the CSI driver " +
    "file.csi.azure.com.",
  {
    secretName: required(
      1,
      string,
      "Name of the Secret that contains the name and key of the Azure storage account.",
    ),
    shareName: required(2, string, "Name of the file share."),
    readOnly: value(3, bool, "Whether the volume is mounted read-only. Defaults to false."),
  },
);

export const scaleIOVolumeSource = scaleIOSource("ScaleIOVolumeSource", inPod);

export const storageOSVolumeSource = storageOSSource("StorageOSVolumeSource", inPod);

export const csiVolumeSource = v1(
  "CSIVolumeSource",
  "Ephemeral inline volume of a CSI driver, which lives as long as the pod. The CSIDriver must " +
    "support lifecycle mode Ephemeral.",
  {
    driver: required(
      1,
      string,
      "Name of the CSI driver that handles the volume, as registered in the cluster.",
    ),
    readOnly: pointer(2, bool, "Whether the volume is mounted read-only. Defaults to false."),
    fsType: pointer(3, string, "Filesystem type to mount. If empty, the driver determines it."),
    volumeAttributes: value(
      4,
      map(string),
      "Driver-specific properties of the volume, passed to the driver.",
    ),
    nodePublishSecretRef: pointer(
      5,
      localObjectReference,
      "Secret in the namespace of the pod to pass to the driver in NodePublishVolume and " +
        "NodeUnpublishVolume.",
    ),
  },
);

export const imageVolumeSource = v1(
  "ImageVolumeSource",
  "Volume of the contents of an OCI image or artifact, mounted read-only.",
  {
    reference: value(
      1,
      string,
      "Image or artifact reference, written like the image of containers. May be empty only in " +
        "templates, for higher layers to fill in.",
    ),
    pullPolicy: value(
      2,
      named("v1.PullPolicy", "Always", "Never", "IfNotPresent"),
      "Pull policy of the image: one of Always, Never, IfNotPresent. Defaults to Always if the " +
        "tag is `latest` or absent, otherwise to IfNotPresent.",
    ),
  },
);
