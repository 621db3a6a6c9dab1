import {
  decodeConfiguration,
  duration,
  kubernetes,
  parseDuration,
  refuseProblems,
  resolve,
} from "#meta";
import {
  required,
  type Infer,
  list,
  pointer,
  Path,
  value,
  Problems,
  string,
  structs,
} from "#schema";

/** EncryptionConfiguration (apiserver.config.k8s.io/v1). */
const v1 = structs("apiserver/pkg/apis/apiserver/v1");

const keyStruct = v1("Key", "A key and its name.", {
  name: required(1, string, "Stands before every value."),
  secret: required(2, string, "The key, as base64."),
});

const keysStruct = v1("KeysConfiguration", "Keys, the one that writes first.", {
  keys: value(1, list(keyStruct), "The keys."),
});

const kmsStruct = v1("KMSConfiguration", "A key management service.", {
  apiVersion: required(1, string, "v2."),
  name: required(2, string, "Stands before every value."),
  endpoint: required(3, string, "unix:///path/of/socket"),
  timeout: required(4, duration, "Longest time of a call, 3s if absent or zero."),
});

const emptyStruct = v1("IdentityConfiguration", "Values as they are.", {});

const providerStruct = v1("ProviderConfiguration", "One way of encrypting; one field is set.", {
  aesgcm: pointer(1, keysStruct, "AES-GCM."),
  aescbc: pointer(2, keysStruct, "AES-CBC with PKCS#7 padding."),
  secretbox: pointer(3, keysStruct, "XSalsa20 and Poly1305."),
  identity: pointer(4, emptyStruct, "No encryption."),
  kms: pointer(5, kmsStruct, "Keys of a key management service."),
});

const resourcesStruct = v1("ResourceConfiguration", "How some resources are encrypted.", {
  resources: value(1, list(string), "secrets, deployments.apps, *.apps, *. or *.*"),
  providers: value(2, list(providerStruct), "The one that writes first; all read."),
});

const configurationStruct = v1("EncryptionConfiguration", "How values are encrypted at rest.", {
  resources: value(1, list(resourcesStruct), "The first entry that names a resource counts."),
});

export type EncryptionConfiguration = Infer<typeof configurationStruct>;
type Provider = Infer<typeof providerStruct>;
type Keys = Infer<typeof keysStruct>;
export type KmsConfiguration = Infer<typeof kmsStruct>;

const configurationVersion = resolve("apiserver.config.{api}/v1", kubernetes);
const eventsGroup = resolve("events.{api}", kubernetes);
const defaultTimeoutMs = 3_000;
const aesSizes = [16, 24, 32];
const secretboxSizes = [32];

/**
 * Parses and validates the encryption configuration; error messages contain no secrets.
 * @throws ConfigurationFault
 */
export function parseEncryptionConfiguration(text: string): EncryptionConfiguration {
  const configuration = decodeConfiguration(text, configurationStruct, [configurationVersion]);
  const problems = new Problems();
  check(configuration, problems);
  refuseProblems(problems);
  return configuration;
}

function check({ resources = [] }: EncryptionConfiguration, problems: Problems): void {
  const root = Path.of("resources");
  if (resources.length === 0) problems.required(root, "at least one resources is required");
  const services = new Set<string>();
  for (const [index, { resources: names = [], providers = [] }] of resources.entries()) {
    const namesPath = root.index(index).child("resources");
    if (names.length === 0) problems.required(namesPath, "at least one resource is required");
    checkOverlap(names, namesPath, problems);
    for (const [at, name] of names.entries()) checkName(name, namesPath.index(at), problems);
    const providersPath = root.index(index).child("providers");
    if (providers.length === 0) {
      problems.required(providersPath, "at least one provider is required");
    }
    for (const [at, provider] of providers.entries()) {
      checkProvider(provider, providersPath.index(at), problems);
      const place = { path: providersPath.index(at).child("kms"), problems };
      if (provider.kms) checkService(provider.kms, services, place);
    }
  }
}

/** Parses `resource.group`; `*` matches all. */
export function groupResource(name: string): { readonly group: string; readonly resource: string } {
  const [resource = "", ...group] = name.split(".");
  return { group: group.join("."), resource };
}

function checkOverlap(names: readonly string[], path: Path, problems: Problems): void {
  if (new Set(names).size < names.length) {
    problems.invalid(path, names, "the same resource cannot be specified multiple times");
  }
  const overlaps = names.some((name, index) => {
    if (name === "*.*") return names.length > 1;
    const { group, resource } = groupResource(name);
    const isSibling = (other: string, at: number): boolean =>
      at !== index && groupResource(other).group === group;
    return resource === "*" && names.some(isSibling);
  });
  if (!overlaps) return;
  problems.invalid(
    path,
    names,
    "using overlapping resources such as 'secrets' and '*.' in the same resource list is not " +
      "allowed as they will be masked",
  );
}

function checkName(name: string, path: Path, problems: Problems): void {
  const fault = nameFault(name);
  if (fault !== undefined) problems.invalid(path, name, fault);
}

function nameFault(name: string): string | undefined {
  const { group, resource } = groupResource(name);
  if (name.toLowerCase() !== name) return "resource name should not contain capital letters";
  if (name === "*") {
    return (
      "use '*.' to encrypt all the resources from core API group or *.* to encrypt all " +
      "resources"
    );
  }
  if (["apiserveripinfo", "serviceipallocations", "servicenodeportallocations"].includes(name)) {
    return "resources which do not have REST API/s cannot be encrypted";
  }
  if (group === eventsGroup) {
    return (
      `'*.${eventsGroup}' objects are stored using the 'events' API group in etcd. Use 'events' ` +
      "instead in the config file"
    );
  }
  if (group === "extensions") {
    return "'extensions' group has been removed and cannot be used for encryption";
  }
  return group === "*" && resource !== "*"
    ? "encrypting the same resource across groups is not supported"
    : undefined;
}

function checkProvider(provider: Provider, path: Path, problems: Problems): void {
  const given = Object.entries(provider).filter(([, value]) => value !== undefined);
  if (given.length !== 1) {
    const fault =
      given.length === 0
        ? "provider does not contain any of the expected providers: " +
          "KMS, AESGCM, AESCBC, Secretbox, Identity"
        : "more than one provider specified in a single element, " +
          "should split into different list elements";
    problems.invalid(
      path,
      given.map(([name]) => name),
      fault,
    );
  }
  const { aesgcm, aescbc, secretbox } = provider;
  if (aesgcm) checkKeys(aesgcm, { path: path.child("aesgcm", "keys"), sizes: aesSizes, problems });
  if (aescbc) checkKeys(aescbc, { path: path.child("aescbc", "keys"), sizes: aesSizes, problems });
  const boxPath = path.child("secretbox", "keys");
  if (secretbox) checkKeys(secretbox, { path: boxPath, sizes: secretboxSizes, problems });
}

interface KeyCheck {
  readonly path: Path;
  readonly sizes: readonly number[];
  readonly problems: Problems;
}

function checkKeys({ keys = [] }: Keys, { path, sizes, problems }: KeyCheck): void {
  if (keys.length === 0) problems.required(path, "at least one keys is required");
  for (const [index, { name, secret }] of keys.entries()) {
    const keyPath = path.index(index);
    const namePath = keyPath.child("name");
    if (name === "") problems.required(namePath, "name is a mandatory field for a key");
    const secretPath = keyPath.child("secret");
    if (secret === "") {
      problems.required(secretPath, "secret is a mandatory field for a key");
      continue;
    }
    const bytes = secretOf(secret);
    if (bytes === undefined) {
      problems.invalid(secretPath, "REDACTED", "secrets must be base64 encoded");
    } else if (!sizes.includes(bytes.byteLength)) {
      const wanted = `expected one of [${sizes.join(" ")}]`;
      const fault = `secret is not of the expected length, got ${bytes.byteLength}, ${wanted}`;
      problems.invalid(secretPath, "REDACTED", fault);
    }
  }
}

/** Decodes a key; undefined if it is not valid Base64. */
export function secretOf(text: string): Buffer | undefined {
  return /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text)
    ? Buffer.from(text, "base64")
    : undefined;
}

function checkService(
  { apiVersion, name, endpoint, timeout }: KmsConfiguration,
  names: Set<string>,
  { path, problems }: { readonly path: Path; readonly problems: Problems },
): void {
  const namePath = path.child("name");
  if (name === "") problems.required(namePath, "name is a mandatory field for a provider");
  if (name.includes(":")) {
    const fault = `invalid KMS provider name ${name}, must not contain ':'`;
    problems.invalid(namePath, name, fault);
  }
  if (names.has(name)) {
    const fault = `duplicate KMS provider name ${name}, names must be unique`;
    problems.invalid(namePath, name, fault);
  }
  names.add(name);
  if (timeoutMs({ timeout }) <= 0) {
    problems.invalid(path.child("timeout"), timeout, "timeout should be a positive value");
  }
  const endpointPath = path.child("endpoint");
  if (endpoint === "") {
    problems.invalid(endpointPath, "", "endpoint is a mandatory field for a kms");
  } else if (!endpoint.startsWith("unix:")) {
    const scheme = JSON.stringify(endpoint.split(":")[0]);
    const fault = `unsupported scheme ${scheme} for KMS provider, only unix is supported`;
    problems.invalid(endpointPath, endpoint, fault);
  }
  if (apiVersion !== "v2") {
    const fault = "unsupported apiVersion for KMS provider, only v2 is supported";
    problems.invalid(path.child("apiVersion"), apiVersion, fault);
  }
}

/** Timeout of calls to the KMS plugin in milliseconds. */
export function timeoutMs({ timeout }: Pick<KmsConfiguration, "timeout">): number {
  return Number(parseDuration(timeout)) / 1e6 || defaultTimeoutMs;
}
