import { readFileSync } from "node:fs";
import path from "node:path";
import { KubeconfigFault, parseKubeconfig } from "#request";
import { flag, type FlagValues, UsageError } from "../flags/parse.ts";
import { readNamed } from "../flags/read-named.ts";
import type { StartOptions } from "#controlplane";

const signingAlgorithms = ["RS", "PS", "ES"].flatMap((kind) =>
  ["256", "384", "512"].map((size) => `${kind}${size}`),
);

const serviceAccountFlags = {
  "service-account-issuer": flag(
    "list",
    ["https://kubernetes.default.svc"],
    "issuers of service account tokens (the `iss` claim), comma-separated: the first is used for " +
      "new tokens, tokens of all are accepted",
  ),
  "service-account-signing-key-file": flag(
    "string",
    "",
    "file with the private key that signs service account tokens (PEM) (default: sa.key in " +
      "--cert-dir, generated at the first start)",
  ),
  "service-account-key-file": flag(
    "list",
    [],
    "files with additional public or private keys that verify service account tokens (PEM); " +
      "replicas with different signing keys need each other's",
  ),
  "service-account-jwks-uri": flag(
    "string",
    "",
    "URI of the JSON Web Key Set in the discovery document of the issuer (default: " +
      "/openid/v1/jwks below the issuer)",
  ),
  "service-account-lookup": flag(
    "bool",
    true,
    "check that the ServiceAccount of a token, and the Secret or pod that it is bound to, exist; " +
      "cannot be disabled",
  ),
  "service-account-max-token-expiration": flag(
    "duration",
    0,
    "maximum validity of a token made by TokenRequest, at least 1h0m0s; 0s = no limit",
  ),
  "service-account-extend-token-expiration": flag(
    "bool",
    true,
    "extend the validity of service account tokens projected into pods to a year, for clients " +
      "that do not reload them",
  ),
  "api-audiences": flag(
    "list",
    [],
    "audiences of the API server: tokens must be bound to one of them (default: the " +
      "service-account issuers)",
  ),
} as const;

/** Authentication flags, with kube-apiserver's names, meanings and defaults. */
export const authenticationFlags = {
  "anonymous-auth": flag(
    "bool",
    true,
    "accept requests without credentials as user system:anonymous of group " +
      "system:unauthenticated",
  ),
  "client-ca-file": flag(
    "string",
    "",
    "file with the CA certificates that verify client certificates (PEM): the common name is the " +
      "user, organizations are the groups; reloaded when it changes",
  ),
  "token-auth-file": flag(
    "string",
    "",
    'CSV file of static bearer tokens, one per line: token,user,uid,"group1,group2"',
  ),
  "enable-bootstrap-token-auth": flag(
    "bool",
    false,
    "accept bootstrap tokens from Secrets of type bootstrap.kubernetes.io/token in kube-system",
  ),
  ...serviceAccountFlags,
  "authentication-config": flag(
    "string",
    "",
    "file with the AuthenticationConfiguration: JWT issuers and anonymous access; reloaded when " +
      "it changes; excludes --oidc-*",
  ),
  "requestheader-client-ca-file": flag(
    "string",
    "",
    "file with the CA certificates that verify the client certificate of the front proxy (PEM), " +
      "before its user headers are trusted; reloaded when it changes",
  ),
  "requestheader-allowed-names": flag(
    "list",
    [],
    "allowed common names of the front proxy's client certificate (default: any)",
  ),
  "requestheader-username-headers": flag(
    "list",
    [],
    "request headers to read the user name from; X-Remote-User is common",
  ),
  "requestheader-uid-headers": flag(
    "list",
    [],
    "request headers to read the user's UID from; X-Remote-Uid is common",
  ),
  "requestheader-group-headers": flag(
    "list",
    [],
    "request headers to read groups from; X-Remote-Group is common",
  ),
  "requestheader-extra-headers-prefix": flag(
    "list",
    [],
    "prefixes of the request headers to read the user's extra attributes from; X-Remote-Extra- " +
      "is common",
  ),
  "authentication-token-webhook-config-file": flag(
    "string",
    "",
    "kubeconfig file with the URL and credentials of the token webhook, which receives a " +
      "TokenReview for bearer tokens that no other authenticator accepts",
  ),
  "authentication-token-webhook-cache-ttl": flag(
    "duration",
    120_000,
    "time for which responses of the token webhook are cached",
  ),
  "authentication-token-webhook-version": flag(
    "string",
    "v1beta1",
    "API version of the TokenReviews sent to the token webhook",
    { values: ["v1", "v1beta1"] },
  ),
  "oidc-issuer-url": flag("string", "", "URL of the OpenID Connect issuer; https only"),
  "oidc-client-id": flag("string", "", "client ID that the `aud` claim of ID tokens must contain"),
  "oidc-ca-file": flag(
    "string",
    "",
    "file with the CA certificates that verify the OpenID Connect issuer (PEM) (default: the " +
      "host's CA certificates)",
  ),
  "oidc-username-claim": flag("string", "sub", "claim of the ID token to use as the user name"),
  "oidc-username-prefix": flag(
    "string",
    "",
    "prefix of user names from ID tokens; - = none (default: <issuer URL>#, or none if " +
      "--oidc-username-claim is email)",
  ),
  "oidc-groups-claim": flag("string", "", "claim of the ID token to use as the user's groups"),
  "oidc-groups-prefix": flag("string", "", "prefix of groups from ID tokens"),
  "oidc-required-claim": flag(
    "pairs",
    new Map(),
    "key=value pairs of claims that ID tokens must contain; may be repeated",
  ),
  "oidc-signing-algs": flag(
    "list",
    ["RS256"],
    `accepted signing algorithms of ID tokens, comma-separated: ${signingAlgorithms.join(", ")}`,
  ),
} as const;

type Values = FlagValues<typeof authenticationFlags>;
type Chosen = Pick<StartOptions, "frontProxy" | "oidc" | "authentication" | "tokenWebhook">;

/** @throws UsageError */
export function authenticationOptions(values: Values): Chosen {
  if (!values["service-account-lookup"]) {
    throw new UsageError(
      "--service-account-lookup=false is not supported: tokens are always looked up",
    );
  }
  const file = values["authentication-config"];
  const oidc = oidcOptions(values);
  if (file !== "" && oidc !== undefined) {
    throw new UsageError("--authentication-config and --oidc-* are mutually exclusive");
  }
  const frontProxy = frontProxyOptions(values);
  const tokenWebhook = tokenWebhookOptions(values);
  return {
    ...(file === "" ? {} : { authentication: reloadedFile(file, "authentication-config") }),
    ...(oidc && { oidc }),
    ...(frontProxy && { frontProxy }),
    ...(tokenWebhook && { tokenWebhook }),
  };
}

function frontProxyOptions(values: Values): Chosen["frontProxy"] {
  const file = values["requestheader-client-ca-file"];
  if (file === "") return undefined;
  return {
    ca: reloadedFile(file, "requestheader-client-ca-file"),
    allowedNames: values["requestheader-allowed-names"],
    headers: {
      username: values["requestheader-username-headers"],
      uid: values["requestheader-uid-headers"],
      group: values["requestheader-group-headers"],
      extraPrefix: values["requestheader-extra-headers-prefix"],
    },
  };
}

function tokenWebhookOptions(values: Values): Chosen["tokenWebhook"] {
  const name = "authentication-token-webhook-config-file";
  const file = values[name];
  if (file === "") return undefined;
  const near = (other: string) => readFileSync(path.resolve(path.dirname(file), other), "utf8");
  try {
    return {
      endpoint: parseKubeconfig(readNamed(file, name), near),
      cacheMs: values["authentication-token-webhook-cache-ttl"],
      version: values["authentication-token-webhook-version"] === "v1" ? "v1" : "v1beta1",
    };
  } catch (fault) {
    if (!(fault instanceof KubeconfigFault)) throw fault;
    throw new UsageError(`--${name}: ${fault.message}`);
  }
}

function oidcOptions(values: Values): Chosen["oidc"] {
  const { "oidc-issuer-url": url, "oidc-client-id": audience, "oidc-ca-file": file } = values;
  if ((url === "") !== (audience === "")) {
    throw new UsageError("--oidc-issuer-url and --oidc-client-id must be given together");
  }
  if (url === "") return undefined;
  const { "oidc-signing-algs": algorithms, "oidc-groups-claim": groups } = values;
  const odd = algorithms.find((name) => !signingAlgorithms.includes(name));
  if (odd !== undefined || algorithms.length === 0) {
    const choice = signingAlgorithms.join(", ");
    throw new UsageError(`--oidc-signing-algs: ${JSON.stringify(odd ?? "")} is none of ${choice}`);
  }
  const required = [...values["oidc-required-claim"]].map(([claim, requiredValue]) => ({
    claim,
    requiredValue,
  }));
  return {
    algorithms,
    issuer: {
      issuer: {
        url,
        audiences: [audience],
        ...(file === "" ? {} : { certificateAuthority: readNamed(file, "oidc-ca-file") }),
      },
      claimValidationRules: required,
      claimMappings: {
        username: { claim: values["oidc-username-claim"], prefix: usernamePrefix(values) },
        groups: groups === "" ? {} : { claim: groups, prefix: values["oidc-groups-prefix"] },
        uid: {},
      },
    },
  };
}

/**
 * The prefix defaults to the issuer, which keeps users of different issuers apart; an email
 * address is unique without it.
 */
function usernamePrefix(values: Values): string {
  const { "oidc-username-prefix": prefix, "oidc-username-claim": claim } = values;
  if (prefix === "-") return "";
  if (prefix !== "" || claim === "email") return prefix;
  return `${values["oidc-issuer-url"]}#`;
}

/**
 * Option for a file that the server reloads when it changes.
 * @throws UsageError if the file cannot be read now
 */
export function reloadedFile(file: string, flagName: string): { readonly file: string } {
  readNamed(file, flagName);
  return { file };
}
