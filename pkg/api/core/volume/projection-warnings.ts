/** Warnings about projected files that hide each other. */
import type { ProjectedVolumeSource } from "./projected-volumes.ts";
import type { Volume } from "./volumes.ts";

interface File {
  readonly path: string;
  /** Source of the file in messages; "" = omitted. */
  readonly source: string;
}

type Projection = NonNullable<ProjectedVolumeSource["sources"]>[number];

function filesOf(
  items: readonly { readonly path: string }[] | undefined,
  source: string,
): readonly File[] {
  return (items ?? []).map(({ path }) => ({ path, source }));
}

function fileAt(path: string | undefined, source: string): readonly File[] {
  return path ? [{ path, source }] : [];
}

function filesOfProjection(projection: Projection): readonly File[] {
  const { configMap, secret, downwardAPI, serviceAccountToken, clusterTrustBundle } = projection;
  const certificate = projection.podCertificate;
  if (configMap) return filesOf(configMap.items, `ConfigMap "${configMap.name ?? ""}"`);
  if (secret) return filesOf(secret.items, `Secret "${secret.name ?? ""}"`);
  if (downwardAPI) return filesOf(downwardAPI.items, "DownwardAPI");
  if (serviceAccountToken) return fileAt(serviceAccountToken.path, "ServiceAccountToken");
  if (clusterTrustBundle) {
    const { name, signerName } = clusterTrustBundle;
    const source = name === undefined ? `with signer "${signerName ?? ""}"` : `"${name}"`;
    return fileAt(clusterTrustBundle.path, `ClusterTrustBundle ${source}`);
  }
  const { credentialBundlePath, keyPath, certificateChainPath } = certificate ?? {};
  return [credentialBundlePath, keyPath, certificateChainPath].flatMap((path) =>
    fileAt(path, "PodCertificate chain"),
  );
}

/** Whether the paths are equal or one contains the other. */
function overlap(left: string, right: string): boolean {
  return `${left}/`.startsWith(`${right}/`) || `${right}/`.startsWith(`${left}/`);
}

function quotedFile({ path, source }: File): string {
  return source === "" ? `"${path}"` : `"${path}" (${source})`;
}

/** Maximum number of files to compare pairwise. */
const maxComparedFiles = 100;
const maxWarnings = 1_000;

function overlaps(all: readonly File[], subject: string): readonly string[] {
  const files = all.slice(0, maxComparedFiles);
  return files.flatMap((file, index) =>
    files
      .slice(0, index)
      .filter((other) => overlap(file.path, other.path))
      .map(
        (other) => `${subject}: overlapping paths: ${quotedFile(file)} with ${quotedFile(other)}`,
      ),
  );
}

export function projectionWarnings(volumes: readonly Volume[]): readonly string[] {
  const warnings: string[] = [];
  for (const volume of volumes) {
    if (warnings.length < maxWarnings) warnings.push(...volumeWarnings(volume));
  }
  return warnings;
}

function volumeWarnings({
  name,
  configMap,
  secret,
  downwardAPI,
  projected,
}: Volume): readonly string[] {
  const volume = (kind: string) => `volume "${name}" (${kind})`;
  if (configMap) {
    const subject = volume(`ConfigMap "${configMap.name ?? ""}"`);
    return overlaps(filesOf(configMap.items, ""), subject);
  }
  if (secret) {
    const subject = volume(`Secret "${secret.secretName ?? ""}"`);
    return overlaps(filesOf(secret.items, ""), subject);
  }
  if (downwardAPI) return overlaps(filesOf(downwardAPI.items, ""), volume("DownwardAPI"));
  if (!projected) return [];
  const sources = projected.sources ?? [];
  const subject = volume("Projected");
  const empty = sources
    .filter((source) => Object.values(source).every((value) => value === undefined))
    .slice(0, maxWarnings)
    .map(() => `${subject} has no sources provided`);
  return [...empty, ...overlaps(sources.flatMap(filesOfProjection), subject)];
}
