/** Structs of volumes whose files come from API objects. */
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

export const keyToPath = v1("KeyToPath", "Maps a key to a file.", {
  key: required(1, string, "Key of the ConfigMap or Secret to project."),
  path: required(2, string, "Path of the file within the volume. Relative and without `..`."),
  mode: pointer(
    3,
    int32,
    "Permission bits of the file, 0 to 0777 (511 in JSON, which has no octal numbers). " +
      "Defaults to the defaultMode of the volume.",
  ),
});

export const secretVolumeSource = v1(
  "SecretVolumeSource",
  "Secret whose entries appear as files. Updates of the Secret reach the volume with a " +
    "delay, except through subPath.",
  {
    secretName: value(1, string, "Name of the Secret in the namespace of the pod."),
    items: value(
      2,
      list(keyToPath),
      "Keys to project and their paths. A missing key fails the volume unless optional. By " +
        "default every key becomes a file of its name.",
      {
        listType: "atomic",
      },
    ),
    defaultMode: pointer(
      3,
      int32,
      "Permission bits of created files, 0 to 0777 (511 in JSON, which has no octal " +
        "numbers). Defaults to 0644 (420).",
    ),
    optional: pointer(
      4,
      bool,
      "Whether the Secret or its keys may be missing. Defaults to false: the pod then waits " +
        "for them.",
    ),
  },
);

export const objectFieldSelector = v1(
  "ObjectFieldSelector",
  "Selects a field of a pod.",
  {
    apiVersion: value(1, string, "API version in which the path is written. Defaults to v1."),
    fieldPath: required(
      2,
      string,
      "Path of the field: metadata.name, metadata.labels['key'], spec.nodeName, status.podIP " +
        "and others. Not all fields are supported everywhere.",
    ),
  },
  { atomic: true },
);

export const resourceFieldSelector = v1(
  "ResourceFieldSelector",
  "Selects a resource request or limit of a container.",
  {
    containerName: value(
      1,
      string,
      "Name of the container. Required in volumes, optional for environment variables.",
    ),
    resource: required(
      2,
      string,
      "Resource to expose, for example limits.cpu, requests.memory, limits.ephemeral-storage " +
        "or requests.hugepages-<size>.",
    ),
    divisor: value(
      3,
      quantity,
      "Unit of the exposed value: 1m for millicores or 1Mi for mebibytes. The result is " +
        "rounded up. Defaults to 1.",
    ),
  },
  { atomic: true },
);

const downwardAPIVolumeFile = v1(
  "DownwardAPIVolumeFile",
  "File with information about the pod. Exactly one of fieldRef and resourceFieldRef " +
    "must be set.",
  {
    path: required(
      1,
      string,
      "Path of the file within the volume. Relative and without `..`. Must be unique.",
    ),
    fieldRef: pointer(
      2,
      objectFieldSelector,
      "Field of the pod: metadata.name, metadata.namespace, metadata.uid, metadata.labels or " +
        "metadata.annotations.",
    ),
    resourceFieldRef: pointer(
      3,
      resourceFieldSelector,
      "Resource request or limit of a container of the pod.",
    ),
    mode: pointer(
      4,
      int32,
      "Permission bits of the file, 0 to 0777 (511 in JSON, which has no octal numbers). " +
        "Defaults to the defaultMode of the volume.",
    ),
  },
);

export const downwardAPIVolumeSource = v1(
  "DownwardAPIVolumeSource",
  "Volume of files with information about the pod.",
  {
    items: value(1, list(downwardAPIVolumeFile), "Files to create, one entry each.", {
      listType: "atomic",
    }),
    defaultMode: pointer(
      2,
      int32,
      "Permission bits of created files, 0 to 0777 (511 in JSON, which has no octal " +
        "numbers). Defaults to 0644 (420).",
    ),
  },
);

export const configMapVolumeSource = v1(
  "ConfigMapVolumeSource",
  "ConfigMap whose entries appear as files. Updates of the ConfigMap reach the volume " +
    "with a delay, except through subPath.",
  {
    localObjectReference: inline(1, localObjectReference, "ConfigMap in the namespace of the pod."),
    items: value(
      2,
      list(keyToPath),
      "Keys to project and their paths. A missing key fails the volume unless optional. By " +
        "default every key becomes a file of its name.",
      {
        listType: "atomic",
      },
    ),
    defaultMode: pointer(
      3,
      int32,
      "Permission bits of created files, 0 to 0777 (511 in JSON, which has no octal " +
        "numbers). Defaults to 0644 (420).",
    ),
    optional: pointer(
      4,
      bool,
      "Whether the ConfigMap or its keys may be missing. Defaults to false: the pod then " +
        "waits for them.",
    ),
  },
);

const secretProjection = v1(
  "SecretProjection",
  "Secret whose entries become files of a projected volume.",
  {
    localObjectReference: inline(1, localObjectReference, "Secret in the namespace of the pod."),
    items: value(
      2,
      list(keyToPath),
      "Keys to project and their paths. By default every key becomes a file of its name.",
      {
        listType: "atomic",
      },
    ),
    optional: pointer(4, bool, "Whether the Secret or its keys may be missing. Defaults to false."),
  },
);

const downwardAPIProjection = v1(
  "DownwardAPIProjection",
  "Information about the pod as files of a projected volume.",
  {
    items: value(1, list(downwardAPIVolumeFile), "Files to create, one entry each.", {
      listType: "atomic",
    }),
  },
);

const configMapProjection = v1(
  "ConfigMapProjection",
  "ConfigMap whose entries become files of a projected volume.",
  {
    localObjectReference: inline(1, localObjectReference, "ConfigMap in the namespace of the pod."),
    items: value(
      2,
      list(keyToPath),
      "Keys to project and their paths. By default every key becomes a file of its name.",
      {
        listType: "atomic",
      },
    ),
    optional: pointer(
      4,
      bool,
      "Whether the ConfigMap or its keys may be missing. Defaults to false.",
    ),
  },
);

const serviceAccountTokenProjection = v1(
  "ServiceAccountTokenProjection",
  "Token of the pod's service account, as a file of a projected volume.",
  {
    audience: value(
      1,
      string,
      "Intended audience of the token. Defaults to that of the API server.",
    ),
    expirationSeconds: pointer(
      2,
      int64,
      "Requested lifetime of the token, in seconds; at least 600. The kubelet renews it " +
        "after 80% of the lifetime or 24 hours. Defaults to 3600.",
    ),
    path: required(3, string, "Path of the file within the volume. Relative and without `..`."),
  },
);

export const clusterTrustBundleProjection = v1(
  "ClusterTrustBundleProjection",
  "Certificates of ClusterTrustBundles, concatenated in one file of a projected volume. " +
    "Exactly one of name and signerName must be set.",
  {
    name: pointer(
      1,
      string,
      "Name of a single ClusterTrustBundle. Mutually exclusive with signerName and labelSelector.",
    ),
    signerName: pointer(
      2,
      string,
      "Signer whose ClusterTrustBundles are combined, as far as labelSelector selects them. " +
        "Mutually exclusive with name.",
    ),
    labelSelector: pointer(
      3,
      labelSelector,
      "Selects among the bundles of signerName. {} selects all; absent selects none.",
    ),
    optional: pointer(
      5,
      bool,
      "Whether the bundles may be missing. The file is then empty. Defaults to false: the " +
        "pod waits for them.",
    ),
    path: required(4, string, "Path of the file within the volume. Relative and without `..`."),
  },
);

const podCertificateProjection = v1(
  "PodCertificateProjection",
  "Private key and certificate that the kubelet requests for the pod and renews, as " +
    "files of a projected volume.",
  {
    signerName: value(1, string, "Signer that issues the certificate, as a domain-prefixed path.", {
      openApi: { required: true },
    }),
    keyType: value(
      2,
      string,
      "Type of the key pair: RSA3072, RSA4096, ECDSAP256, ECDSAP384, ECDSAP521 or ED25519.",
      { openApi: { required: true } },
    ),
    maxExpirationSeconds: pointer(
      3,
      int32,
      "Longest validity of the certificate, in seconds: 3600 to 7862400 (91 days), or to " +
        "86400 for built-in signers. Defaults to 86400.",
    ),
    credentialBundlePath: value(
      4,
      string,
      "Path of a file with the private key followed by the certificate chain, in PEM. " +
        "Preferred, since both change together.",
    ),
    keyPath: value(
      5,
      string,
      "Path of a file with the private key, in PEM. Key and chain in separate files may not " +
        "match during a renewal.",
    ),
    certificateChainPath: value(6, string, "Path of a file with the certificate chain, in PEM."),
  },
);

const volumeProjection = v1(
  "VolumeProjection",
  "One source of a projected volume. Exactly one field must be set.",
  {
    secret: pointer(1, secretProjection, "Entries of a Secret to project."),
    downwardAPI: pointer(2, downwardAPIProjection, "Information about the pod to project."),
    configMap: pointer(3, configMapProjection, "Entries of a ConfigMap to project."),
    serviceAccountToken: pointer(
      4,
      serviceAccountTokenProjection,
      "Service account token to project.",
    ),
    clusterTrustBundle: pointer(
      5,
      clusterTrustBundleProjection,
      "Trust anchors to project. Beta, off by default: requires the feature gate " +
        "ClusterTrustBundleProjection.",
      {
        gate: "ClusterTrustBundleProjection",
      },
    ),
    podCertificate: pointer(
      6,
      podCertificateProjection,
      "Private key and certificate to project. Alpha: requires the feature gate " +
        "PodCertificateRequest.",
      {
        gate: "PodCertificateRequest",
      },
    ),
  },
);

export const projectedVolumeSource = v1(
  "ProjectedVolumeSource",
  "Volume that combines several sources in one directory.",
  {
    sources: required(
      1,
      list(volumeProjection),
      "Sources to project. Their paths must not collide.",
      {
        listType: "atomic",
        required: false,
      },
    ),
    defaultMode: pointer(
      2,
      int32,
      "Permission bits of created files, 0 to 0777 (511 in JSON, which has no octal " +
        "numbers). Defaults to 0644 (420).",
    ),
  },
);

export type DownwardAPIVolumeFile = Infer<typeof downwardAPIVolumeFile>;
export type ProjectedVolumeSource = Infer<typeof projectedVolumeSource>;
