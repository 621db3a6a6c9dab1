import { assign, sliceLength, type Slices, sortedKeysInSlices } from "#base";
import {
  bool,
  bytes,
  type Infer,
  JsonFault,
  map,
  named,
  pointer,
  parseJson,
  Path,
  value,
  type Problems,
  string,
  structs,
} from "#schema";
import { type HookContext, isConfigMapKey, kind, objectMeta, resolve } from "#meta";
import { ageColumn, ageOf, column, nameColumn, nameOf } from "../printing.ts";
import { entry, invalidEach, mustNotChange } from "../strategy.ts";
import { keyPairFault } from "./key-pair.ts";
import { checkImmutableData, maxDataBytes, sizeOfBase64 } from "./shared/immutable-data.ts";

const v1 = structs("api/core/v1");

const secretV1 = v1(
  "Secret",
  "Secret holds confidential data such as passwords, tokens and keys.",
  {
    metadata: value(1, objectMeta, "Standard object metadata."),
    immutable: pointer(
      5,
      bool,
      "Whether data is immutable. Once true, it cannot be unset, and only metadata can be " +
        "updated: delete and recreate the object instead. Defaults to false.",
    ),
    data: value(
      2,
      map(bytes),
      "Values by key, base64-encoded. Keys consist of letters, digits, `-`, `_` and `.`. At " +
        "most 1 MiB in total.",
    ),
    stringData: value(
      4,
      map(string),
      "Values by key, in plain text. Write-only: they are merged into data on writes, " +
        "overriding existing values, and never returned.",
    ),
    type: value(
      3,
      named("v1.SecretType"),
      "Type of the Secret, for programs that handle it; built-in types require certain keys in " +
        "data. Defaults to Opaque. Immutable.",
      {
        default: "Opaque",
      },
    ),
  },
);

type Secret = Infer<typeof secretV1>;

const data = Path.of("data");

/** Merges stringData into data; stringData takes precedence. */
function mergeStringData(secret: Secret): void {
  const { stringData } = secret;
  if (stringData === undefined) return;
  const merged = { ...secret.data };
  for (const [key, text] of Object.entries(stringData)) {
    assign(merged, key, Buffer.from(text).toString("base64"));
  }
  delete secret.stringData;
  if (Object.keys(merged).length > 0) secret.data = merged;
}

function requireKey(secret: Secret, key: string, problems: Problems): void {
  if (entry(secret.data, key) === undefined) problems.required(data.key(key));
}

/** Requires a JSON object or null under the key; messages never contain the secret value. */
function requireJson(secret: Secret, key: string, problems: Problems): void {
  const value = entry(secret.data, key);
  if (value === undefined) return problems.required(data.key(key));
  const refuse = (detail: string) =>
    problems.invalid(data.key(key), "<secret contents redacted>", detail);
  try {
    const parsed = parseJson(Buffer.from(value, "base64")).value;
    const found = Array.isArray(parsed) ? "array" : goTypeOf(parsed);
    if (found === undefined) return;
    refuse(`json: cannot unmarshal ${found} into Go value of type map[string]interface {}`);
  } catch (fault) {
    if (!(fault instanceof JsonFault)) throw fault;
    refuse(fault.message);
  }
}

function goTypeOf(value: unknown): string | undefined {
  if (typeof value === "object") return undefined;
  if (typeof value === "boolean") return "bool";
  return typeof value === "string" ? "string" : "number";
}

/** Secret type, as a template of the domain -> check of the required keys. */
const requirements: Readonly<
  Record<string, (secret: Secret, problems: Problems, context: HookContext) => void>
> = {
  "{label}/service-account-token": (secret, problems, { domain }) => {
    const key = resolve("{label}/service-account.name", domain);
    if (entry(secret.metadata.annotations, key)) return;
    problems.required(Path.of("metadata.annotations").key(key));
  },
  "{label}/dockercfg": (secret, problems) => requireJson(secret, ".dockercfg", problems),
  "{label}/dockerconfigjson": (secret, problems) =>
    requireJson(secret, ".dockerconfigjson", problems),
  "{label}/basic-auth": (secret, problems) => {
    const keys = ["username", "password"];
    if (keys.some((key) => entry(secret.data, key) !== undefined)) return;
    for (const key of keys) requireKey(secret, key, problems);
  },
  "{label}/ssh-auth": (secret, problems) => {
    if (!entry(secret.data, "ssh-privatekey")) problems.required(data.key("ssh-privatekey"));
  },
  "{label}/tls": (secret, problems) => {
    requireKey(secret, "tls.crt", problems);
    requireKey(secret, "tls.key", problems);
  },
};

function validate(secret: Secret, problems: Problems, context: HookContext): void {
  problems.defer((found) => dataChecks(secret, found));
  for (const [type, check] of Object.entries(requirements)) {
    if (resolve(type, context.domain) === secret.type) check(secret, problems, context);
  }
}

function* dataChecks(secret: Secret, problems: Problems): Slices<void> {
  let size = 0;
  for (const [index, key] of (yield* sortedKeysInSlices(secret.data ?? {})).entries()) {
    if (index % sliceLength === 0) yield;
    invalidEach(problems, data.key(key), { value: key, messages: isConfigMapKey(key) });
    size += sizeOfBase64(entry(secret.data, key) ?? "");
  }
  if (size > maxDataBytes) problems.tooLong(data, "", maxDataBytes);
}

/** Warns of a TLS secret whose certificate and key do not match. */
function warnings(object: Secret, _old: Secret | undefined, { domain }: HookContext): string[] {
  if (object.type !== resolve("{label}/tls", domain)) return [];
  const text = (key: string) => Buffer.from(entry(object.data, key) ?? "", "base64").toString();
  const fault = keyPairFault(text("tls.crt"), text("tls.key"));
  return fault === undefined ? [] : [fault];
}

export const secret = kind(secretV1, {
  group: "",
  kind: "Secret",
  plural: "secrets",
  scope: "Namespaced",
  versions: [{ version: "v1", struct: secretV1, onByDefault: true, convert: "hub" }],
  rules: { metadataOnUpdate: { "": ["change", "object"] } },
  hooks: {
    default: mergeStringData,
    validate,
    validateUpdate: (object, old, problems, context) => {
      mustNotChange(problems, Path.of("type"), { now: object.type, before: old.type });
      checkImmutableData(object, old, { keys: ["data"], problems });
      validate(object, problems, context);
    },
    warnings,
  },
  columns: [
    nameColumn,
    column("Type", "Purpose of the Secret."),
    column("Data", "Number of keys."),
    ageColumn,
  ],
  row: (object, context) => [
    nameOf(object),
    object.type ?? "",
    Object.keys(object.data ?? {}).length,
    ageOf(object, context),
  ],
  selectableFields: { type: (object) => object.type ?? "" },
});
