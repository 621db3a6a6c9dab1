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

export const keyToPath = v1("KeyToPath", "Maps a key to a path within a volume.", {
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
  "Volume of files from a Secret. Updates of the Secret eventually reach the volume, except " +
    "for subPath mounts.",
  {
    secretName: value(1, string, "Name of the Secret in the namespace of the pod."),
    items: value(
      2,
      list(keyToPath),
      "Keys to project, and their paths. A missing key is an error unless optional is set. If " +
        "empty, every key is projected to a file of the same name.",
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
      "Whether the Secret or its keys may be missing. Defaults to false: the pod waits for them.",
    ),
  },
);

export const objectFieldSelector = v1(
  "ObjectFieldSelector",
  "Selects a field of a pod.",
  {
    apiVersion: value(
      1,
      string,
      "API version in terms of which fieldPath is written. Defaults to v1.",
    ),
    fieldPath: required(
      2,
      string,
      "Path of the field, for example metadata.name, metadata.labels['key'], spec.nodeName or " +
        "status.podIP. Environment variables and volumes support different fields.",
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
      "Output unit of the exposed value, for example 1m (millicores) or 1Mi (mebibytes). The " +
        "result is rounded up. Defaults to 1.",
    ),
  },
  { atomic: true },
);

const downwardAPIVolumeFile = v1(
  "DownwardAPIVolumeFile",
  "File with a field or resource of the pod. Exactly one of fieldRef and resourceFieldRef must " +
    "be set.",
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
  "Volume of files with fields and resources of the pod (downward API).",
  {
    items: value(1, list(downwardAPIVolumeFile), "Files to create, one item per file.", {
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
  "Volume of files from a ConfigMap. Updates of the ConfigMap eventually reach the volume, " +
    "except for subPath mounts.",
  {
    localObjectReference: inline(1, localObjectReference, "ConfigMap in the namespace of the pod."),
    items: value(
      2,
      list(keyToPath),
      "Keys to project, and their paths. A missing key is an error unless optional is set. If " +
        "empty, every key is projected to a file of the same name.",
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
      "Whether the ConfigMap or its keys may be missing. Defaults to false: the pod waits for " +
        "them.",
    ),
  },
);

const secretProjection = v1("SecretProjection", "Files from a Secret in a projected volume.", {
  localObjectReference: inline(1, localObjectReference, "Secret in the namespace of the pod."),
  items: value(
    2,
    list(keyToPath),
    "Keys to project, and their paths. If empty, every key is projected to a file of the " +
      "same name.",
    {
      listType: "atomic",
    },
  ),
  optional: pointer(4, bool, "Whether the Secret or its keys may be missing. Defaults to false."),
});

const downwardAPIProjection = v1(
  "DownwardAPIProjection",
  "Files with fields and resources of the pod in a projected volume.",
  {
    items: value(1, list(downwardAPIVolumeFile), "Files to create, one item per file.", {
      listType: "atomic",
    }),
  },
);

const configMapProjection = v1(
  "ConfigMapProjection",
  "Files from a ConfigMap in a projected volume.",
  {
    localObjectReference: inline(1, localObjectReference, "ConfigMap in the namespace of the pod."),
    items: value(
      2,
      list(keyToPath),
      "Keys to project, and their paths. If empty, every key is projected to a file of the " +
        "same name.",
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
  "Service account token of the pod, as a file in a projected volume.",
  {
    audience: value(
      1,
      string,
      "Intended audience of the token. Defaults to the audience of the API server.",
    ),
    expirationSeconds: pointer(
      2,
      int64,
      "Requested lifetime of the token, in seconds, at least 600. The kubelet rotates the " +
        "token once 80% of its lifetime or 24 hours have passed. Defaults to 3600.",
    ),
    path: required(3, string, "Path of the file within the volume. Relative and without `..`."),
  },
);

export const clusterTrustBundleProjection = v1(
  "ClusterTrustBundleProjection",
  "Trust anchors of ClusterTrustBundles, combined and deduplicated in one file of a projected " +
    "volume. Exactly one of name and signerName must be set.",
  {
    name: pointer(
      1,
      string,
      "Name of a single ClusterTrustBundle. Mutually exclusive with signerName and labelSelector.",
    ),
    signerName: pointer(
      2,
      string,
      "Name of the signer whose ClusterTrustBundles are projected, as far as labelSelector " +
        "matches them. Mutually exclusive with name.",
    ),
    labelSelector: pointer(
      3,
      labelSelector,
      "Selects among the ClusterTrustBundles of signerName. {} selects all; absent selects none.",
    ),
    optional: pointer(
      5,
      bool,
      "Whether the pod may start although no ClusterTrustBundle is available; the file is then " +
        "empty. Defaults to false: the pod waits.",
    ),
    path: required(4, string, "Path of the file within the volume. Relative and without `..`."),
  },
);

const podCertificateProjection = v1(
  "PodCertificateProjection",
  "Private key and X.509 certificate that the kubelet requests for the pod and rotates, as " +
    "files of a projected volume.",
  {
    signerName: value(
      1,
      string,
      "Name of the signer that the certificate is requested from, as a domain-prefixed path. " +
        "Required.",
      {
        openApi: { required: true },
      },
    ),
    keyType: value(
      2,
      string,
      "Type of key pair to generate: RSA3072, RSA4096, ECDSAP256, ECDSAP384, ECDSAP521 or " +
        "ED25519. Required.",
      { openApi: { required: true } },
    ),
    maxExpirationSeconds: pointer(
      3,
      int32,
      "Maximum lifetime of the certificate, in seconds: 3600 to 7862400 (91 days), or to 86400 " +
        "for built-in signers. Defaults to 86400.",
    ),
    credentialBundlePath: value(
      4,
      string,
      "Path of the file for the PEM credential bundle: private key, then certificate chain. " +
        "Preferred to separate files, since it is replaced atomically.",
    ),
    keyPath: value(
      5,
      string,
      "Path of the file for the private key, in PEM. During a rotation it may not match the " +
        "file of certificateChainPath.",
    ),
    certificateChainPath: value(6, string, "Path of the file for the certificate chain, in PEM."),
  },
);

const volumeProjection = v1(
  "VolumeProjection",
  "Source that a projected volume combines with others. Exactly one field must be set.",
  {
    secret: pointer(1, secretProjection, "Keys of a Secret to project."),
    downwardAPI: pointer(2, downwardAPIProjection, "Fields and resources of the pod to project."),
    configMap: pointer(3, configMapProjection, "Keys of a ConfigMap to project."),
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
      "Volume projections. Their paths must not collide.",
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
