import { cryptoRandom, randomText } from "#base";
import { type Domain, resolve } from "#meta";
import type { AdmissionAttributes, AdmissionHandler } from "#registry";
import { annotation } from "../default-class.ts";
import { isFor, type ObjectReader, refuse } from "../../objects.ts";
import { checkSecretUse, usesSecrets } from "../secret-references.ts";

/**
 * Pods run as a service account: the plugin names it, mounts its token and hands its image pull
 * secrets on. Mirror pods, which a node made up itself, stay as they are and may have none of that.
 */

const usualAccount = "default";
/** The default account of a new namespace may take a moment to be made. */
const attempts = 10;
const waitMs = 100;

const volumePrefix = "kube-api-access-";
const mountPath = "/var/run/secrets/{label}/serviceaccount";
/** Without vowels and look-alikes, so that no words come out. */
const suffixAlphabet = "bcdfghjklmnpqrstvwxz2456789";
const suffixLength = 5;
const fileMode = 0o644;
/** The odd seconds tell such tokens from those that clients ask for. */
const tokenSeconds = 3607;

export interface ServiceAccountParts {
  readonly objects: ObjectReader;
  readonly domain: Domain;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
}

export function serviceAccountOfPods(parts: ServiceAccountParts): AdmissionHandler {
  const path = resolve(mountPath, parts.domain);
  return async (attributes) => {
    if (!isFor(attributes, "", "pods") || attributes.operation !== "create") return [];
    const pod = attributes.object;
    if (isMirror(parts.domain, pod)) return checkMirror(attributes);
    const { spec } = pod;
    spec.serviceAccountName ||= usualAccount;
    spec.serviceAccount = spec.serviceAccountName;
    const account = await accountOf(parts, attributes);
    const mounts = spec.automountServiceAccountToken ?? account.automountServiceAccountToken;
    if (mounts ?? true) mountToken(spec, path);
    if (!spec.imagePullSecrets?.length && account.imagePullSecrets?.length) {
      spec.imagePullSecrets = account.imagePullSecrets.map(({ name }: any) => ({ name }));
    }
    return checkUse(parts.domain, attributes, account);
  };
}

/** Once more when all others have had their say. */
export function serviceAccountUse(parts: ServiceAccountParts): AdmissionHandler {
  return async (attributes) => {
    const { request, operation } = attributes;
    const debugs = request.resource.keyPrefix === "/pods/" && operation === "update";
    const isDebug = debugs && request.subresource === "ephemeralcontainers";
    const isNew = isFor(attributes, "", "pods") && operation === "create";
    if (!isNew && !isDebug) return [];
    const pod = attributes.object;
    if (isMirror(parts.domain, pod)) return checkMirror(attributes);
    if (!pod.spec.serviceAccountName) {
      const which = `${request.namespace}/${pod.metadata.name ?? ""}`;
      throw refuse(attributes, `no service account specified for pod ${which}`);
    }
    return checkUse(parts.domain, attributes, await accountOf(parts, attributes));
  };
}

function isMirror(domain: Domain, { metadata }: any): boolean {
  return annotation(metadata, resolve("{label}/config.mirror", domain)) !== undefined;
}

function checkMirror(attributes: AdmissionAttributes): readonly string[] {
  const { spec } = attributes.object;
  const forbid = (what: string) => refuse(attributes, `a mirror pod may not ${what}`);
  if (spec.serviceAccountName) throw forbid("reference service accounts");
  if (usesSecrets(spec)) throw forbid("reference secrets");
  for (const { projected } of spec.volumes ?? []) {
    for (const { serviceAccountToken } of projected?.sources ?? []) {
      if (serviceAccountToken) throw forbid("use ServiceAccountToken volume projections");
    }
  }
  return [];
}

async function accountOf(
  { objects, sleep }: ServiceAccountParts,
  attributes: AdmissionAttributes,
): Promise<any> {
  const { request, object } = attributes;
  const { namespace, context } = request;
  const name: string = object.spec.serviceAccountName;
  const where = { group: "", plural: "serviceaccounts", namespace };
  for (let attempt = 1; ; attempt++) {
    const account = await objects.find(where, name, context);
    if (account !== undefined) return account;
    if (name !== usualAccount || attempt === attempts) break;
    await sleep(waitMs, context.signal);
  }
  const missing = `serviceaccount ${JSON.stringify(name)} not found`;
  throw refuse(attributes, `error looking up service account ${namespace}/${name}: ${missing}`);
}

function checkUse(
  domain: Domain,
  attributes: AdmissionAttributes,
  account: any,
): readonly string[] {
  const key = resolve("{label}/enforce-mountable-secrets", domain);
  if (annotation(account.metadata, key)?.toLowerCase() !== "true") return [];
  const why = checkSecretUse(attributes.object.spec, account);
  if (why !== undefined) throw refuse(attributes, why);
  return [];
}

/** Into every container that has nothing there yet. */
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

/** The token, the authority that signed the server's certificate, and the name of the namespace. */
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
