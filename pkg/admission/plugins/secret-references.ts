/** Secret references of pods, for `enforce-mountable-secrets` and mirror pods. */

interface Container {
  readonly name: string;
  readonly env?: readonly {
    readonly name: string;
    readonly valueFrom?: { readonly secretKeyRef?: { readonly name?: string } };
  }[];
  readonly envFrom?: readonly { readonly secretRef?: { readonly name?: string } }[];
}

const lists = [
  { field: "initContainers", what: "init container" },
  { field: "containers", what: "container" },
  { field: "ephemeralContainers", what: "ephemeral container" },
] as const;

interface Use {
  readonly secret: string;
  /** Start of the message. */
  readonly by: string;
}

/** Error of the first secret reference that the service account does not list; undefined = none. */
export function checkSecretUse(spec: any, account: any): string | undefined {
  const { name } = account.metadata;
  const secrets = namesOf(account.secrets);
  const not = (what: string) =>
    `is not allowed because service account ${name} does not reference that ${what}`;
  const wrong = [...volumeUses(spec), ...containerUses(spec)].find(
    ({ secret }) => !secrets.has(secret),
  );
  if (wrong !== undefined) {
    return `${wrong.by}secret.secretName=${JSON.stringify(wrong.secret)} ${not("secret")}`;
  }
  const pulls = namesOf(account.imagePullSecrets);
  const all: readonly { readonly name?: string }[] = spec.imagePullSecrets ?? [];
  const index = all.findIndex((secret) => !pulls.has(secret.name ?? ""));
  if (index < 0) return undefined;
  const quoted = JSON.stringify(all[index]!.name ?? "");
  return `imagePullSecrets[${index}].name=${quoted} ${not("imagePullSecret")}`;
}

/** Whether a pod references any Secret: volumes, env, envFrom or image pull secrets. */
export function usesSecrets(spec: any): boolean {
  const ofVolumes = (spec.volumes ?? []).flatMap(volumeSecrets);
  const ofContainers = containerUses(spec).map(({ secret }) => secret);
  const pulls = (spec.imagePullSecrets ?? []).map(({ name }: any) => name);
  return [...ofVolumes, ...ofContainers, ...pulls].some(Boolean);
}

/** Names of Secrets in a volume source. */
function volumeSecrets(volume: any): readonly unknown[] {
  const { azureFile, secret, projected, csi } = volume;
  const referring = ["cephfs", "cinder", "flexVolume", "rbd", "scaleIO", "iscsi", "storageos"];
  return [
    secret?.secretName,
    azureFile?.secretName,
    csi?.nodePublishSecretRef?.name,
    ...referring.map((type) => volume[type]?.secretRef?.name),
    ...(projected?.sources ?? []).map((source: any) => source.secret?.name),
  ];
}

function namesOf(references: readonly { readonly name?: string }[] = []): ReadonlySet<string> {
  return new Set(references.map(({ name }) => name ?? ""));
}

function volumeUses(spec: any): readonly Use[] {
  return (spec.volumes ?? []).flatMap(({ secret }: any) =>
    secret === undefined ? [] : [{ secret: secret.secretName ?? "", by: "volume with " }],
  );
}

function containerUses(spec: any): readonly Use[] {
  return lists.flatMap(({ field, what }) => {
    const containers: readonly Container[] = spec[field] ?? [];
    return containers.flatMap((container) => {
      const by = `${what} ${container.name} with`;
      const variables = (container.env ?? []).flatMap(({ name, valueFrom }) => {
        const secret = valueFrom?.secretKeyRef?.name;
        return secret === undefined ? [] : [{ secret, by: `${by} envVar ${name} referencing ` }];
      });
      const whole = (container.envFrom ?? []).flatMap(({ secretRef }) => {
        const secret = secretRef?.name;
        return secret === undefined ? [] : [{ secret, by: `${by} envFrom referencing ` }];
      });
      return [...variables, ...whole];
    });
  });
}
