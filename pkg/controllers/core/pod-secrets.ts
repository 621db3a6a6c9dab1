interface Reference {
  readonly name?: string;
}

interface SecretSources {
  readonly imagePullSecrets?: readonly Reference[];
  readonly volumes?: readonly Readonly<Record<string, unknown>>[];
  readonly [containers: string]: unknown;
}

interface Environment {
  readonly env?: readonly { readonly valueFrom?: { readonly secretKeyRef?: Reference } }[];
  readonly envFrom?: readonly { readonly secretRef?: Reference }[];
}

interface VolumeSource {
  readonly secretName?: string;
  readonly secretRef?: Reference;
  readonly nodePublishSecretRef?: Reference;
  readonly sources?: readonly { readonly secret?: Reference }[];
}

/** Names of the Secrets that a pod references: image pull secrets, env, envFrom and volumes. */
export function secretsOf({ spec }: Pod): ReadonlySet<string> {
  const sources = (spec ?? {}) as unknown as SecretSources;
  const kinds = ["containers", "initContainers", "ephemeralContainers"];
  const containers = kinds.flatMap((kind) => (sources[kind] ?? []) as readonly Environment[]);
  const references: readonly (Reference | undefined)[] = [
    ...(sources.imagePullSecrets ?? []),
    ...containers.flatMap(({ env = [] }) => env.map(({ valueFrom }) => valueFrom?.secretKeyRef)),
    ...containers.flatMap(({ envFrom = [] }) => envFrom.map(({ secretRef }) => secretRef)),
    ...(sources.volumes ?? []).flatMap(secretsOfVolume),
  ];
  return new Set(references.flatMap((reference) => reference?.name || []));
}

/** A volume is `{ name, TYPE: source }`. */
function secretsOfVolume(volume: Readonly<Record<string, unknown>>) {
  return Object.values(volume).flatMap((value) => {
    if (typeof value !== "object" || value === null) return [];
    const { secretName = "", secretRef, nodePublishSecretRef, sources } = value as VolumeSource;
    const projected = (sources ?? []).map(({ secret }) => secret);
    return [{ name: secretName }, secretRef, nodePublishSecretRef, ...projected];
  });
}
import type { Pod } from "#kinds";
