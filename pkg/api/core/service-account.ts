import { bool, type Infer, list, pointer, value, structs, mergedBy } from "#schema";
import { type HookContext, kind, objectMeta, resolve } from "#meta";
import { ageColumn, ageOf, column, nameColumn, nameOf } from "../printing.ts";
import { tokenRequestV1 } from "../authentication/token-request.ts";
import { entry } from "../strategy.ts";
import { localObjectReference, objectReference } from "./shared/references.ts";

const v1 = structs("api/core/v1");

const serviceAccountV1 = v1(
  "ServiceAccount",
  "ServiceAccount is an identity for processes in pods, which authenticate to the API server " +
    "with its tokens.",
  {
    metadata: value(1, objectMeta, "Standard object metadata."),
    secrets: value(
      2,
      list(objectReference),
      "Secrets that pods of this account may mount, if its annotation " +
        'enforce-mountable-secrets (deprecated) is "true". Not the place to look for tokens: ' +
        "request them with TokenRequest.",
      mergedBy("name"),
    ),
    imagePullSecrets: value(
      3,
      list(localObjectReference),
      "Secrets with credentials for pulling images. Admission adds them to pods of this " +
        "account that have no imagePullSecrets.",
      { listType: "atomic" },
    ),
    automountServiceAccountToken: pointer(
      4,
      bool,
      "Whether a token is mounted automatically in pods of this account. The setting of a pod " +
        "takes precedence. Defaults to true.",
    ),
  },
);

type ServiceAccount = Infer<typeof serviceAccountV1>;

/** Keeps only the names of Secret references. */
function keepNames(account: ServiceAccount): void {
  if (account.secrets === undefined) return;
  account.secrets = account.secrets.map(({ name }) => (name === undefined ? {} : { name }));
}

const enforceSecretsAnnotation = "{label}/enforce-mountable-secrets";

/** Warns if a write adds the deprecated annotation. */
function warnings(
  { metadata }: ServiceAccount,
  old: ServiceAccount | undefined,
  { domain }: HookContext,
): readonly string[] {
  const key = resolve(enforceSecretsAnnotation, domain);
  if (entry(metadata.annotations, key) === undefined) return [];
  if (entry(old?.metadata.annotations, key) !== undefined) return [];
  const instead = "prefer separate namespaces to isolate access to mounted secrets";
  return [`metadata.annotations[${key}]: deprecated in v1.32+; ${instead}`];
}

export const serviceAccount = kind(serviceAccountV1, {
  group: "",
  kind: "ServiceAccount",
  plural: "serviceaccounts",
  shortNames: ["sa"],
  scope: "Namespaced",
  versions: [{ version: "v1", struct: serviceAccountV1, onByDefault: true, convert: "hub" }],
  subresources: [
    {
      name: "token",
      verbs: ["create"],
      represents: {
        group: "authentication.{api}",
        version: "v1",
        kind: "TokenRequest",
        struct: tokenRequestV1,
      },
    },
  ],
  rules: { metadataOnUpdate: { "": ["change", "object"] }, deleteReturnsObject: true },
  hooks: { prepareCreate: keepNames, prepareUpdate: keepNames, warnings },
  columns: [
    nameColumn,
    column("Secrets", "Number of Secrets that the account refers to."),
    ageColumn,
  ],
  row: (object, context) => [nameOf(object), object.secrets?.length ?? 0, ageOf(object, context)],
});
