/** Keys, issuers and audiences of service account tokens, as start options say it. */
import {
  keySet,
  parseSigningKey,
  parseVerifyingKeys,
  type SigningKey,
  type VerifyingKey,
} from "#authn";
import { assert } from "#base";
import type { ServerDocument } from "#server";
import { fromFlag } from "../files/file-reloader.ts";

export interface ServiceAccountOptions {
  /** Tokens name the first and may name any; default `https://kubernetes.default.svc`. */
  readonly issuers?: readonly string[];
  /** What the API server stands for; default: the issuers. */
  readonly audiences?: readonly string[];
  /** Private key (PEM); absent = one is made at the start. */
  readonly signingKey?: string;
  /** More keys whose tokens are taken (PEM). */
  readonly keys?: readonly string[];
  /** Where clients find the keys; default: below the issuer. */
  readonly jwksUri?: string;
  /** Longest life of a token, in seconds; absent = as long as is asked for. */
  readonly mostSeconds?: number;
  /** Whether old clients that read their token once get one for a year; default true. */
  readonly extends?: boolean;
}

export interface ServiceAccountKeys {
  readonly issuer: string;
  readonly issuers: readonly string[];
  readonly audiences: readonly string[];
  readonly key: SigningKey;
  readonly accepted: readonly VerifyingKey[];
  readonly jwksUri: string;
  readonly mostSeconds?: number;
  readonly extends: boolean;
}

const defaultIssuer = "https://kubernetes.default.svc";
const keysPath = "/openid/v1/jwks";

/** @throws FileFault for keys that cannot be used. */
export function serviceAccountKeys(options: ServiceAccountOptions = {}): ServiceAccountKeys {
  const { signingKey, keys = [] } = options;
  assert(signingKey !== undefined, "the start has made a key");
  const issuers = options.issuers?.length ? options.issuers : [defaultIssuer];
  const issuer = issuers[0]!;
  const key = fromFlag("service-account-signing-key-file", () => parseSigningKey(signingKey));
  const more = fromFlag("service-account-key-file", () => keys.flatMap(parseVerifyingKeys));
  return {
    issuer,
    issuers,
    audiences: options.audiences?.length ? options.audiences : issuers,
    key,
    accepted: [key, ...more.filter(({ id }) => id !== key.id)],
    ...(options.mostSeconds === undefined ? {} : { mostSeconds: options.mostSeconds }),
    extends: options.extends ?? true,
    jwksUri: options.jwksUri || `${issuer.replace(/\/$/, "")}${keysPath}`,
  };
}

/** What others need to verify tokens, by path. */
export function issuerDocuments(keys: ServiceAccountKeys): ReadonlyMap<string, ServerDocument> {
  const { issuer, jwksUri, accepted } = keys;
  const jwks = {
    contentType: "application/jwk-set+json",
    body: JSON.stringify(keySet(accepted)),
  };
  const discovery = {
    contentType: "application/json",
    body: JSON.stringify({
      issuer,
      jwks_uri: jwksUri,
      response_types_supported: ["id_token"],
      subject_types_supported: ["public"],
      id_token_signing_alg_values_supported: [...new Set(accepted.map((key) => key.algorithm))],
    }),
  };
  const discoveryPath = "/.well-known/openid-configuration";
  return new Map([
    [keysPath, jwks],
    [`${keysPath}/`, jwks],
    [discoveryPath, discovery],
    [`${discoveryPath}/`, discovery],
  ]);
}
