/** Which secrets a pod uses, and whether its service account lets it. */

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
  /** How the message begins. */
  readonly by: string;
}

/** Why a pod may not use what it does; undefined if it may. */
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

/** Anything at all: volumes, variables, pull secrets. */
export function usesSecrets(spec: any): boolean {
  const projected = (spec.volumes ?? []).some((volume: any) =>
    (volume.projected?.sources ?? []).some(({ secret }: any) => secret !== undefined),
  );
  const some = [...volumeUses(spec), ...containerUses(spec)].length > 0;
  return projected || some || (spec.imagePullSecrets ?? []).length > 0;
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
