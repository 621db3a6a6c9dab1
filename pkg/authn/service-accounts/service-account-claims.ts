/** Claims of service account tokens. */
import { isJsonObject } from "#base";
import { type Claims, unverifiedClaims } from "../jwt/jwt.ts";

/** An object to which a token is bound. */
export interface NamedObject {
  readonly name: string;
  readonly uid: string;
}

/** ServiceAccount and bound objects of a token; times in seconds since 1970. */
export interface AccountClaims {
  readonly namespace: string;
  readonly account: NamedObject;
  readonly pod: NamedObject | undefined;
  readonly secret: NamedObject | undefined;
  readonly node: NamedObject | undefined;
  readonly id: string;
  readonly audiences: readonly string[];
  readonly notBefore: number;
  readonly expires: number;
  /** `warnafter` in seconds since 1970: later use shows that the client does not reload its token. */
  readonly staleAfter: number | undefined;
}

/** Issuer of legacy tokens, which are stored in Secrets and do not expire. */
export const legacyIssuer = "kubernetes/serviceaccount";

/** ServiceAccount and Secret of a legacy token. */
export interface LegacyClaims {
  readonly namespace: string;
  readonly account: NamedObject;
  readonly secretName: string;
}

/** Claim `iss` of an unverified token. */
export function issuerOf(token: string): string | undefined {
  const issuer = unverifiedClaims(token)?.["iss"];
  return typeof issuer === "string" ? issuer : undefined;
}

/** Reads claims; `label` = label domain, the key of the private claims. Undefined = malformed. */
export function readClaims(claims: Claims, label: string): AccountClaims | undefined {
  const own = record(claims[label]);
  const namespace = text(own["namespace"]);
  const account = namedObject(own["serviceaccount"]);
  if (namespace === undefined || account === undefined) return undefined;
  if (claims["sub"] !== `system:serviceaccount:${namespace}:${account.name}`) return undefined;
  const { aud, exp, nbf = 0 } = claims;
  const { warnafter } = own;
  const audiences = (Array.isArray(aud) ? aud : [aud]).filter((each) => typeof each === "string");
  if (typeof exp !== "number" || typeof nbf !== "number") return undefined;
  return {
    namespace,
    account,
    pod: namedObject(own["pod"]),
    secret: namedObject(own["secret"]),
    node: namedObject(own["node"]),
    id: text(claims["jti"]) ?? "",
    audiences,
    notBefore: nbf,
    expires: exp,
    staleAfter: typeof warnafter === "number" ? warnafter : undefined,
  };
}

/** Reads claims of a legacy token; `label` = label domain, their prefix. Undefined = malformed. */
export function readLegacyClaims(claims: Claims, label: string): LegacyClaims | undefined {
  const own = (key: string) => text(claims[`${label}/serviceaccount/${key}`]);
  const namespace = own("namespace");
  const name = own("service-account.name");
  const uid = own("service-account.uid");
  const secretName = own("secret.name");
  if (!namespace || !name || !uid || !secretName) return undefined;
  if (claims["sub"] !== `system:serviceaccount:${namespace}:${name}`) return undefined;
  return { namespace, account: { name, uid }, secretName };
}

function namedObject(value: unknown): NamedObject | undefined {
  const { name, uid } = record(value);
  return typeof name === "string" ? { name, uid: text(uid) ?? "" } : undefined;
}

function record(value: unknown): Claims {
  return isJsonObject(value) ? value : {};
}

function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
