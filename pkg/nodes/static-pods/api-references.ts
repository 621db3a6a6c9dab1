/** References to API objects, which static pods must not contain. */

type Json = any;

/** Volume sources that reference API objects, with the kubelet's names for them. */
const volumeReferences: Readonly<Record<string, string>> = {
  configMap: "configmaps (via configmap volumes)",
  secret: "secrets (via secret volumes)",
  csi: "csidrivers (via CSI volumes)",
  glusterfs: "endpoints (via glusterFS volumes)",
  persistentVolumeClaim: "persistentvolumeclaims",
  ephemeral: "persistentvolumeclaims (via ephemeral volumes)",
  azureFile: "secrets (via azureFile volumes)",
};

const projectedReferences: Readonly<Record<string, string>> = {
  configMap: "configmaps (via projected volumes)",
  secret: "secrets (via projected volumes)",
  serviceAccountToken: "serviceaccounts (via projected volumes)",
  clusterTrustBundle: "clustertrustbundles",
  podCertificate: "podcertificates",
};

/** First kind of API object that a pod's spec references; undefined = none. */
export function apiReferenceOf(spec: Json): string | undefined {
  if (spec?.serviceAccountName) return "serviceaccounts";
  const containers = ["initContainers", "containers", "ephemeralContainers"].flatMap((list) =>
    listOf(spec?.[list]),
  );
  const sources = containers.flatMap(({ env, envFrom }) => [
    ...listOf(env).map(({ valueFrom }) => valueFrom),
    ...listOf(envFrom),
  ]);
  const has = (...names: readonly string[]) =>
    sources.some((source) => names.some((name) => source?.[name] !== undefined));
  if (listOf(spec?.imagePullSecrets).length > 0 || has("secretKeyRef", "secretRef")) {
    return "secrets";
  }
  if (has("configMapKeyRef", "configMapRef")) return "configmaps";
  if (listOf(spec?.resourceClaims).length > 0) return "resourceclaims";
  return listOf(spec?.volumes)
    .flatMap((volume) => [
      named(volume, volumeReferences),
      ...listOf(volume.projected?.sources).map((each) => named(each, projectedReferences)),
    ])
    .find((reference) => reference !== undefined);
}

function named(source: Json, names: Readonly<Record<string, string>>): string | undefined {
  return Object.entries(names).find(([name]) => source?.[name] !== undefined)?.[1];
}

/** The value if it is an array, else []: manifests are not validated yet. */
function listOf(value: Json): readonly Json[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === "object" && each) : [];
}
