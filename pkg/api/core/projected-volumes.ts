/** Volumes whose files come from API objects. */
import {
  type Infer,
  always,
  bool,
  inline,
  int32,
  int64,
  list,
  optional,
  plain,
  string,
  structs,
} from "#schema";
import { labelSelector, quantity } from "#meta";
import { localObjectReference } from "./references.ts";

const v1 = structs("api/core/v1");

export const keyToPath = v1("KeyToPath", "Which key becomes which file.", {
  key: always(1, string, "The key."),
  path: always(2, string, "Path of the file below the volume, without `..`."),
  mode: optional(3, int32, "Permission bits of the file; the volume's default when absent."),
});

export const secretVolumeSource = v1("SecretVolumeSource", "The entries of a Secret as files.", {
  secretName: plain(1, string, "Name of the Secret."),
  items: plain(2, list(keyToPath), "Keys to show; all of them when absent.", {
    listType: "atomic",
  }),
  defaultMode: optional(3, int32, "Permission bits of files that name none."),
  optional: optional(4, bool, "The Secret and its keys need not exist."),
});

export const objectFieldSelector = v1(
  "ObjectFieldSelector",
  "Picks a field of the pod.",
  {
    apiVersion: plain(1, string, "Version in which the path is read; v1 by default."),
    fieldPath: always(2, string, "Path of the field, as in `metadata.name`."),
  },
  { atomic: true },
);

export const resourceFieldSelector = v1(
  "ResourceFieldSelector",
  "Picks a resource amount of a container.",
  {
    containerName: plain(1, string, "Name of the container; needed in volumes."),
    resource: always(2, string, "What to show, as in `limits.cpu`."),
    divisor: plain(3, quantity, "Unit in which it is shown; 1 by default."),
  },
  { atomic: true },
);

const downwardAPIVolumeFile = v1(
  "DownwardAPIVolumeFile",
  "A file that shows something about the pod.",
  {
    path: always(1, string, "Path of the file below the volume, without `..`."),
    fieldRef: optional(2, objectFieldSelector, "Field of the pod that is shown."),
    resourceFieldRef: optional(
      3,
      resourceFieldSelector,
      "Resource amount of a container that is shown.",
    ),
    mode: optional(4, int32, "Permission bits of the file; the volume's default when absent."),
  },
);

export const downwardAPIVolumeSource = v1(
  "DownwardAPIVolumeSource",
  "Files that show what the pod is.",
  {
    items: plain(1, list(downwardAPIVolumeFile), "The files.", { listType: "atomic" }),
    defaultMode: optional(2, int32, "Permission bits of files that name none."),
  },
);

export const configMapVolumeSource = v1(
  "ConfigMapVolumeSource",
  "The entries of a ConfigMap as files.",
  {
    localObjectReference: inline(1, localObjectReference, "The ConfigMap."),
    items: plain(2, list(keyToPath), "Keys to show; all of them when absent.", {
      listType: "atomic",
    }),
    defaultMode: optional(3, int32, "Permission bits of files that name none."),
    optional: optional(4, bool, "The ConfigMap and its keys need not exist."),
  },
);

const secretProjection = v1("SecretProjection", "Entries of a Secret within a projected volume.", {
  localObjectReference: inline(1, localObjectReference, "The Secret."),
  items: plain(2, list(keyToPath), "Keys to show; all of them when absent.", {
    listType: "atomic",
  }),
  optional: optional(4, bool, "The Secret and its keys need not exist."),
});

const downwardAPIProjection = v1(
  "DownwardAPIProjection",
  "Facts about the pod within a projected volume.",
  {
    items: plain(1, list(downwardAPIVolumeFile), "The files.", { listType: "atomic" }),
  },
);

const configMapProjection = v1(
  "ConfigMapProjection",
  "Entries of a ConfigMap within a projected volume.",
  {
    localObjectReference: inline(1, localObjectReference, "The ConfigMap."),
    items: plain(2, list(keyToPath), "Keys to show; all of them when absent.", {
      listType: "atomic",
    }),
    optional: optional(4, bool, "The ConfigMap and its keys need not exist."),
  },
);

const serviceAccountTokenProjection = v1(
  "ServiceAccountTokenProjection",
  "A token of the pod's service account.",
  {
    audience: plain(1, string, "Who the token is for; the API server by default."),
    expirationSeconds: optional(2, int64, "Seconds that a token is valid; it is renewed in time."),
    path: always(3, string, "Path of the file below the volume."),
  },
);

const clusterTrustBundleProjection = v1(
  "ClusterTrustBundleProjection",
  "Certificates from trust bundles, one after another in a file.",
  {
    name: optional(1, string, "One bundle by name; not together with signerName."),
    signerName: optional(2, string, "All bundles of a signer that labelSelector takes."),
    labelSelector: optional(
      3,
      labelSelector,
      "Which bundles of the signer; absent takes none, empty all.",
    ),
    optional: optional(5, bool, "The bundles need not exist."),
    path: always(4, string, "Path of the file below the volume."),
  },
);

const podCertificateProjection = v1(
  "PodCertificateProjection",
  "A key and a certificate made for the pod.",
  {
    signerName: plain(1, string, "Signer that is asked for the certificate."),
    keyType: plain(2, string, "Kind of key to make, as in ED25519."),
    maxExpirationSeconds: optional(
      3,
      int32,
      "Longest time that the certificate may be valid, in seconds.",
    ),
    credentialBundlePath: plain(4, string, "Path of a file with the key and the certificates."),
    keyPath: plain(5, string, "Path of a file with the key alone."),
    certificateChainPath: plain(6, string, "Path of a file with the certificates alone."),
  },
);

const volumeProjection = v1(
  "VolumeProjection",
  "One source of a projected volume; exactly one field is set.",
  {
    secret: optional(1, secretProjection, "Entries of a Secret."),
    downwardAPI: optional(2, downwardAPIProjection, "Facts about the pod."),
    configMap: optional(3, configMapProjection, "Entries of a ConfigMap."),
    serviceAccountToken: optional(
      4,
      serviceAccountTokenProjection,
      "A token of the pod's service account.",
    ),
    clusterTrustBundle: optional(
      5,
      clusterTrustBundleProjection,
      "Certificates of trust bundles.",
      { gate: "ClusterTrustBundleProjection" },
    ),
    podCertificate: optional(6, podCertificateProjection, "A key and a certificate for the pod.", {
      gate: "PodCertificateProjection",
    }),
  },
);

export const projectedVolumeSource = v1(
  "ProjectedVolumeSource",
  "Several sources in one directory.",
  {
    sources: always(1, list(volumeProjection), "The sources.", {
      listType: "atomic",
      required: false,
    }),
    defaultMode: optional(2, int32, "Permission bits of files that name none."),
  },
);

export type DownwardAPIVolumeFile = Infer<typeof downwardAPIVolumeFile>;
export type ProjectedVolumeSource = Infer<typeof projectedVolumeSource>;
