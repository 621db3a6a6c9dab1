/** Keys, issuers and audiences of service account tokens, as start options configure them. */
import {
  keySet,
  parseSigningKey,
  parseVerifyingKeys,
  type SigningKey,
  type VerifyingKey,
} from "#authn";
import { assert, memoize, printJson } from "#base";
import type { ServerDocument } from "#server";
import { fromFlag } from "../files/file-reloader.ts";

export interface ServiceAccountOptions {
  /**
   * The first is used for new tokens, tokens of all are accepted; default
   * `https://kubernetes.default.svc`.
   */
  readonly issuers?: readonly string[];
  /** Audiences of the API server: tokens must be bound to one of them; default: the issuers. */
  readonly audiences?: readonly string[];
  /** Private key that signs tokens (PEM), or what returns it at its first use; absent = generated. */
  readonly signingKey?: string | (() => string);
  /** Additional keys that verify tokens (PEM). */
  readonly keys?: readonly string[];
  /** URI of the JSON Web Key Set; default: below the issuer. */
  readonly jwksUri?: string;
  /** Maximum validity of a requested token, in seconds; absent = no limit. */
  readonly maxSeconds?: number;
  /**
   * Extend the validity of tokens projected into pods to a year, for clients that do not reload
   * them; default true.
   */
  readonly extends?: boolean;
}

export interface ServiceAccountKeys {
  readonly issuer: string;
  readonly issuers: readonly string[];
  readonly audiences: readonly string[];
  /** The key may be generated after the start; see ServiceAccountOptions.signingKey. */
  readonly signingKey: () => SigningKey;
  /** Keys that tokens are verified with: the signing key first. */
  readonly verifyingKeys: () => readonly VerifyingKey[];
  readonly jwksUri: string;
  readonly maxSeconds?: number;
  readonly extends: boolean;
}

const defaultIssuer = "https://kubernetes.default.svc";
const keysPath = "/openid/v1/jwks";

/**
 * The keys of an options object, which the parts of a server and its forks share. A signing key that is
 * given as a function is parsed at its first use.
 * @throws FileError for keys that cannot be used
 */
export const serviceAccountKeys = memoize(keysOf);

function keysOf(options: ServiceAccountOptions): ServiceAccountKeys {
  const issuers = options.issuers?.length ? options.issuers : [defaultIssuer];
  const issuer = issuers[0]!;
  const { keys = [] } = options;
  const more = fromFlag("service-account-key-file", () => keys.flatMap(parseVerifyingKeys));
  if (typeof options.signingKey === "string") parsedKey(options);
  const signingKey = () => parsedKey(options);
  let verifying: readonly VerifyingKey[] | undefined;
  return {
    issuer,
    issuers,
    audiences: options.audiences?.length ? options.audiences : issuers,
    signingKey,
    // Called for every token, so made once.
    verifyingKeys: () => {
      const key = signingKey();
      return (verifying ??= [key, ...more.filter(({ id }) => id !== key.id)]);
    },
    ...(options.maxSeconds === undefined ? {} : { maxSeconds: options.maxSeconds }),
    extends: options.extends ?? true,
    jwksUri: options.jwksUri || `${issuer.replace(/\/$/, "")}${keysPath}`,
  };
}

const parsedKey = memoize(({ signingKey }: ServiceAccountOptions): SigningKey => {
  assert(signingKey !== undefined, "the start has chosen a key");
  const pem = typeof signingKey === "string" ? signingKey : signingKey();
  return fromFlag("service-account-signing-key-file", () => parseSigningKey(pem));
});

/** Documents for verifiers of tokens (OpenID discovery and key set), by path. */
export function issuerDocuments(keys: ServiceAccountKeys): ReadonlyMap<string, ServerDocument> {
  const jwks = jsonDocument("application/jwk-set+json", () => keySet(keys.verifyingKeys()));
  const discovery = jsonDocument("application/json", () => ({
    issuer: keys.issuer,
    jwks_uri: keys.jwksUri,
    response_types_supported: ["id_token"],
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: [
      ...new Set(keys.verifyingKeys().map((key) => key.algorithm)),
    ],
  }));
  const discoveryPath = "/.well-known/openid-configuration";
  return new Map([
    [keysPath, jwks],
    [`${keysPath}/`, jwks],
    [discoveryPath, discovery],
    [`${discoveryPath}/`, discovery],
  ]);
}

/** A document that is printed once, at its first request: it names the signing key. */
function jsonDocument(contentType: string, content: () => object): ServerDocument {
  let body: string | undefined;
  return {
    contentType,
    get body() {
      return (body ??= printJson(content()));
    },
  };
}
