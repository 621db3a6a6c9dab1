/** Volumes whose files come from API objects. */
import {
  type Infer,
  required,
  bool,
  inline,
  int32,
  int64,
  list,
  pointer,
  value,
  string,
  structs,
} from "#schema";
import { labelSelector, quantity } from "#meta";
import { localObjectReference } from "../shared/references.ts";

const v1 = structs("api/core/v1");

export const keyToPath = v1("KeyToPath", "Which key becomes which file.", {
  key: required(1, string, "The key."),
  path: required(2, string, "Path of the file below the volume, without `..`."),
  mode: pointer(3, int32, "Permission bits of the file; the volume's default when absent."),
});

export const secretVolumeSource = v1("SecretVolumeSource", "The entries of a Secret as files.", {
  secretName: value(1, string, "Name of the Secret."),
  items: value(2, list(keyToPath), "Keys to show; all of them when absent.", {
    listType: "atomic",
  }),
  defaultMode: pointer(3, int32, "Permission bits of files that name none."),
  optional: pointer(4, bool, "The Secret and its keys need not exist."),
});

export const objectFieldSelector = v1(
  "ObjectFieldSelector",
  "Picks a field of the pod.",
  {
    apiVersion: value(1, string, "Version in which the path is read; v1 by default."),
    fieldPath: required(2, string, "Path of the field, as in `metadata.name`."),
  },
  { atomic: true },
);

export const resourceFieldSelector = v1(
  "ResourceFieldSelector",
  "Picks a resource amount of a container.",
  {
    containerName: value(1, string, "Name of the container; needed in volumes."),
    resource: required(2, string, "What to show, as in `limits.cpu`."),
    divisor: value(3, quantity, "Unit in which it is shown; 1 by default."),
  },
  { atomic: true },
);

const downwardAPIVolumeFile = v1(
  "DownwardAPIVolumeFile",
  "A file that shows something about the pod.",
  {
    path: required(1, string, "Path of the file below the volume, without `..`."),
    fieldRef: pointer(2, objectFieldSelector, "Field of the pod that is shown."),
    resourceFieldRef: pointer(
      3,
      resourceFieldSelector,
      "Resource amount of a container that is shown.",
    ),
    mode: pointer(4, int32, "Permission bits of the file; the volume's default when absent."),
  },
);

export const downwardAPIVolumeSource = v1(
  "DownwardAPIVolumeSource",
  "Files that show what the pod is.",
  {
    items: value(1, list(downwardAPIVolumeFile), "The files.", { listType: "atomic" }),
    defaultMode: pointer(2, int32, "Permission bits of files that name none."),
  },
);

export const configMapVolumeSource = v1(
  "ConfigMapVolumeSource",
  "The entries of a ConfigMap as files.",
  {
    localObjectReference: inline(1, localObjectReference, "The ConfigMap."),
    items: value(2, list(keyToPath), "Keys to show; all of them when absent.", {
      listType: "atomic",
    }),
    defaultMode: pointer(3, int32, "Permission bits of files that name none."),
    optional: pointer(4, bool, "The ConfigMap and its keys need not exist."),
  },
);

const secretProjection = v1("SecretProjection", "Entries of a Secret within a projected volume.", {
  localObjectReference: inline(1, localObjectReference, "The Secret."),
  items: value(2, list(keyToPath), "Keys to show; all of them when absent.", {
    listType: "atomic",
  }),
  optional: pointer(4, bool, "The Secret and its keys need not exist."),
});

const downwardAPIProjection = v1(
  "DownwardAPIProjection",
  "Facts about the pod within a projected volume.",
  {
    items: value(1, list(downwardAPIVolumeFile), "The files.", { listType: "atomic" }),
  },
);

const configMapProjection = v1(
  "ConfigMapProjection",
  "Entries of a ConfigMap within a projected volume.",
  {
    localObjectReference: inline(1, localObjectReference, "The ConfigMap."),
    items: value(2, list(keyToPath), "Keys to show; all of them when absent.", {
      listType: "atomic",
    }),
    optional: pointer(4, bool, "The ConfigMap and its keys need not exist."),
  },
);

const serviceAccountTokenProjection = v1(
  "ServiceAccountTokenProjection",
  "A token of the pod's service account.",
  {
    audience: value(1, string, "Who the token is for; the API server by default."),
    expirationSeconds: pointer(2, int64, "Seconds that a token is valid; it is renewed in time."),
    path: required(3, string, "Path of the file below the volume."),
  },
);

const clusterTrustBundleProjection = v1(
  "ClusterTrustBundleProjection",
  "Certificates from trust bundles, one after another in a file.",
  {
    name: pointer(1, string, "One bundle by name; not together with signerName."),
    signerName: pointer(2, string, "All bundles of a signer that labelSelector takes."),
    labelSelector: pointer(
      3,
      labelSelector,
      "Which bundles of the signer; absent takes none, empty all.",
    ),
    optional: pointer(5, bool, "The bundles need not exist."),
    path: required(4, string, "Path of the file below the volume."),
  },
);

const podCertificateProjection = v1(
  "PodCertificateProjection",
  "A key and a certificate made for the pod.",
  {
    signerName: value(1, string, "Signer that is asked for the certificate."),
    keyType: value(2, string, "Kind of key to make, as in ED25519."),
    maxExpirationSeconds: pointer(
      3,
      int32,
      "Longest time that the certificate may be valid, in seconds.",
    ),
    credentialBundlePath: value(4, string, "Path of a file with the key and the certificates."),
    keyPath: value(5, string, "Path of a file with the key alone."),
    certificateChainPath: value(6, string, "Path of a file with the certificates alone."),
  },
);

const volumeProjection = v1(
  "VolumeProjection",
  "One source of a projected volume; exactly one field is set.",
  {
    secret: pointer(1, secretProjection, "Entries of a Secret."),
    downwardAPI: pointer(2, downwardAPIProjection, "Facts about the pod."),
    configMap: pointer(3, configMapProjection, "Entries of a ConfigMap."),
    serviceAccountToken: pointer(
      4,
      serviceAccountTokenProjection,
      "A token of the pod's service account.",
    ),
    clusterTrustBundle: pointer(5, clusterTrustBundleProjection, "Certificates of trust bundles.", {
      gate: "ClusterTrustBundleProjection",
    }),
    podCertificate: pointer(6, podCertificateProjection, "A key and a certificate for the pod.", {
      gate: "PodCertificateProjection",
    }),
  },
);

export const projectedVolumeSource = v1(
  "ProjectedVolumeSource",
  "Several sources in one directory.",
  {
    sources: required(1, list(volumeProjection), "The sources.", {
      listType: "atomic",
      required: false,
    }),
    defaultMode: pointer(2, int32, "Permission bits of files that name none."),
  },
);

export type DownwardAPIVolumeFile = Infer<typeof downwardAPIVolumeFile>;
export type ProjectedVolumeSource = Infer<typeof projectedVolumeSource>;
