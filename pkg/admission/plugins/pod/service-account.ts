import { cryptoRandom, heldDuring, randomText, realClock } from "#base";
import { type Domain, resolve } from "#meta";
import type { AdmissionAttributes } from "#registry";
import { annotation } from "../default-class.ts";
import { isFor, forbiddenRequest } from "../../objects.ts";
import type { AdmissionPlugin, PluginDependencies } from "../../plugin.ts";
import { checkSecretUse, usesSecrets } from "../secret-references.ts";

const defaultAccount = "default";
/** Attempts to read the default account, which the controller may not have created yet. */
const attempts = 10;
const waitMs = 100;

const volumePrefix = "kube-api-access-";
const mountPath = "/var/run/secrets/{label}/serviceaccount";
/** Alphabet of Kubernetes' `rand.String`: no vowels and no digits that look like them. */
const suffixAlphabet = "bcdfghjklmnpqrstvwxz2456789";
const suffixLength = 5;
const fileMode = 0o644;
/** 3607 rather than 3600 marks the tokens that this plugin requested (source: Kubernetes). */
const tokenSeconds = 3607;

type ServiceAccountParts = Pick<PluginDependencies, "objects" | "domain" | "clock">;

/**
 * Sets the service account of a new pod (default: `default`), mounts its API token and copies its image pull
 * secrets. Mirror pods are not modified, and may use neither service accounts nor Secrets.
 */
export const serviceAccount: AdmissionPlugin = {
  name: "ServiceAccount",
  enabled: "default",
  resources: ["pods"],
  create(parts) {
    const path = resolve(mountPath, parts.domain);
    return {
      mutate: (attributes) => {
        if (!isNewPod(attributes)) return undefined;
        if (!isMirror(parts.domain, attributes.object)) return setAccount(parts, attributes, path);
        checkMirror(attributes);
        return undefined;
      },
      validate: (attributes) => {
        if (!isNewPod(attributes) && !addsEphemeralContainers(attributes)) return undefined;
        if (!isMirror(parts.domain, attributes.object)) return checkAccount(parts, attributes);
        checkMirror(attributes);
        return undefined;
      },
    };
  },
};

function isNewPod(attributes: AdmissionAttributes): boolean {
  return isFor(attributes, "", "pods") && attributes.operation === "create";
}

function addsEphemeralContainers({ request, operation }: AdmissionAttributes): boolean {
  const { resource, subresource } = request;
  const isPod = resource.keyPrefix === "/pods/";
  return isPod && subresource === "ephemeralcontainers" && operation === "update";
}

async function setAccount(
  parts: ServiceAccountParts,
  attributes: AdmissionAttributes,
  path: string,
): Promise<readonly string[]> {
  const { spec } = attributes.object;
  spec.serviceAccountName ||= defaultAccount;
  spec.serviceAccount = spec.serviceAccountName;
  const account = await accountOf(parts, attributes);
  const mounts = spec.automountServiceAccountToken ?? account.automountServiceAccountToken;
  if (mounts ?? true) mountToken(spec, path);
  if (!spec.imagePullSecrets?.length && account.imagePullSecrets?.length) {
    spec.imagePullSecrets = account.imagePullSecrets.map(({ name }: any) => ({ name }));
  }
  return checkUse(parts.domain, attributes, account);
}

async function checkAccount(
  parts: ServiceAccountParts,
  attributes: AdmissionAttributes,
): Promise<readonly string[]> {
  const pod = attributes.object;
  if (!pod.spec.serviceAccountName) {
    const which = `${attributes.request.namespace}/${pod.metadata.name ?? ""}`;
    throw forbiddenRequest(attributes, `no service account specified for pod ${which}`);
  }
  return checkUse(parts.domain, attributes, await accountOf(parts, attributes));
}

function isMirror(domain: Domain, { metadata }: any): boolean {
  return annotation(metadata, resolve("{label}/config.mirror", domain)) !== undefined;
}

function checkMirror(attributes: AdmissionAttributes): void {
  const { spec } = attributes.object;
  const forbid = (what: string) => forbiddenRequest(attributes, `a mirror pod may not ${what}`);
  if (spec.serviceAccountName) throw forbid("reference service accounts");
  if (usesSecrets(spec)) throw forbid("reference secrets");
  for (const { projected } of spec.volumes ?? []) {
    for (const { serviceAccountToken } of projected?.sources ?? []) {
      if (serviceAccountToken) throw forbid("use ServiceAccountToken volume projections");
    }
  }
}

async function accountOf(
  { objects, clock }: ServiceAccountParts,
  attributes: AdmissionAttributes,
): Promise<any> {
  const { request, object } = attributes;
  const { namespace, context } = request;
  const name: string = object.spec.serviceAccountName;
  const where = { group: "", plural: "serviceaccounts", namespace };
  for (let attempt = 1; ; attempt++) {
    const account = await objects.find(where, name, context);
    if (account !== undefined) return account;
    if (name !== defaultAccount || attempt === attempts) break;
    const wait = () => realClock(clock).sleep(waitMs, context.signal);
    await heldDuring(clock, "waits for service accounts", wait);
  }
  const missing = `serviceaccount ${JSON.stringify(name)} not found`;
  throw forbiddenRequest(
    attributes,
    `error looking up service account ${namespace}/${name}: ${missing}`,
  );
}

function checkUse(
  domain: Domain,
  attributes: AdmissionAttributes,
  account: any,
): readonly string[] {
  const key = resolve("{label}/enforce-mountable-secrets", domain);
  if (!isTrue(annotation(account.metadata, key))) return [];
  const why = checkSecretUse(attributes.object.spec, account);
  if (why !== undefined) throw forbiddenRequest(attributes, why);
  return [];
}

/** Whether Go's strconv.ParseBool parses the text as true. */
function isTrue(text = ""): boolean {
  return ["1", "t", "T", "TRUE", "true", "True"].includes(text);
}

/** Mounts the token in every container without a mount at that path. */
function mountToken(spec: any, path: string): void {
  const volumes: readonly { readonly name: string }[] = spec.volumes ?? [];
  const there = volumes.find(({ name }) => name.startsWith(volumePrefix));
  const suffix = randomText(cryptoRandom, suffixLength, suffixAlphabet);
  const name = there?.name ?? `${volumePrefix}${suffix}`;
  let isUsed = false;
  for (const container of [...(spec.initContainers ?? []), ...(spec.containers ?? [])]) {
    const mounts: readonly { readonly mountPath: string }[] = container.volumeMounts ?? [];
    if (mounts.some((mount) => mount.mountPath === path)) continue;
    container.volumeMounts = [...mounts, { name, readOnly: true, mountPath: path }];
    isUsed = true;
  }
  if (isUsed && there === undefined) spec.volumes = [...volumes, tokenVolume(name)];
}

/** Projected volume: the token, the CA of the API server, and the name of the namespace. */
function tokenVolume(name: string): unknown {
  const namespace = { apiVersion: "v1", fieldPath: "metadata.namespace" };
  return {
    name,
    projected: {
      defaultMode: fileMode,
      sources: [
        { serviceAccountToken: { expirationSeconds: tokenSeconds, path: "token" } },
        { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
        { downwardAPI: { items: [{ path: "namespace", fieldRef: namespace }] } },
      ],
    },
  };
}
