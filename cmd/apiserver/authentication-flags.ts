/** Flags about who may come in beside tokens and certificates of the cluster's own. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { KubeconfigFault, parseKubeconfig } from "#request";
import { flag, type FlagValues, UsageError } from "../flags/parse.ts";
import { readNamed } from "../flags/read-named.ts";
import type { StartOptions } from "#controlplane";

const signingAlgorithms = ["RS", "PS", "ES"].flatMap((kind) =>
  ["256", "384", "512"].map((size) => `${kind}${size}`),
);

export const authenticationFlags = {
  "authentication-config": flag(
    "string",
    "",
    "file with an AuthenticationConfiguration, followed while the server runs",
  ),
  "requestheader-client-ca-file": flag(
    "string",
    "",
    "file with the authorities of a proxy in front that authenticates users",
  ),
  "requestheader-allowed-names": flag(
    "list",
    [],
    "common names of that proxy's certificate (default any)",
  ),
  "requestheader-username-headers": flag("list", [], "headers with the name, X-Remote-User"),
  "requestheader-uid-headers": flag("list", [], "headers with the uid, X-Remote-Uid"),
  "requestheader-group-headers": flag("list", [], "headers with groups, X-Remote-Group"),
  "requestheader-extra-headers-prefix": flag(
    "list",
    [],
    "beginnings of headers with extras, X-Remote-Extra-",
  ),
  "authentication-token-webhook-config-file": flag(
    "string",
    "",
    "kubeconfig of a server that is asked about tokens",
  ),
  "authentication-token-webhook-cache-ttl": flag("duration", 120_000, "how long it is believed", {
    minimum: 0,
  }),
  "authentication-token-webhook-version": flag("string", "v1beta1", "of the TokenReview it gets", {
    values: ["v1", "v1beta1"],
  }),
  "oidc-issuer-url": flag("string", "", "issuer of ID tokens, https"),
  "oidc-client-id": flag("string", "", "what its tokens must be for"),
  "oidc-ca-file": flag("string", "", "file with the authorities of the issuer"),
  "oidc-username-claim": flag("string", "sub", "claim with the name of the user"),
  "oidc-username-prefix": flag(
    "string",
    "",
    "stands before the name; - = nothing (default <issuer>#, nothing for email)",
  ),
  "oidc-groups-claim": flag("string", "", "claim with the groups of the user"),
  "oidc-groups-prefix": flag("string", "", "stands before each group"),
  "oidc-required-claim": flag("pairs", new Map(), "claims that tokens must have: name=value"),
  "oidc-signing-algs": flag("list", ["RS256"], `algorithms: ${signingAlgorithms.join(", ")}`),
} as const;

type Values = FlagValues<typeof authenticationFlags>;
type Chosen = Pick<StartOptions, "frontProxy" | "oidc" | "authentication" | "tokenWebhook">;

/** @throws UsageError */
export function authenticationOptions(values: Values): Chosen {
  const file = values["authentication-config"];
  const oidc = oidcOptions(values);
  if (file !== "" && oidc !== undefined) {
    throw new UsageError("--authentication-config and --oidc-* are mutually exclusive");
  }
  const frontProxy = frontProxyOptions(values);
  const tokenWebhook = tokenWebhookOptions(values);
  return {
    ...(file === "" ? {} : { authentication: followed(file, "authentication-config") }),
    ...(oidc && { oidc }),
    ...(frontProxy && { frontProxy }),
    ...(tokenWebhook && { tokenWebhook }),
  };
}

function frontProxyOptions(values: Values): Chosen["frontProxy"] {
  const file = values["requestheader-client-ca-file"];
  if (file === "") return undefined;
  return {
    ca: followed(file, "requestheader-client-ca-file"),
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

/** Names of two issuers must not be taken for each other; addresses are names of the world. */
function usernamePrefix(values: Values): string {
  const { "oidc-username-prefix": prefix, "oidc-username-claim": claim } = values;
  if (prefix === "-") return "";
  if (prefix !== "" || claim === "email") return prefix;
  return `${values["oidc-issuer-url"]}#`;
}

/** A file that is there now and may change later. */
export function followed(file: string, flagName: string): { readonly file: string } {
  readNamed(file, flagName);
  return { file };
}
