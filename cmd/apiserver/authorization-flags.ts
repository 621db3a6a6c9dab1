import path from "node:path";
import { type AuthorizationMode, authorizationModes } from "#authz";
import { flag, type FlagValues, UsageError } from "../flags/parse.ts";
import type { StartOptions } from "#controlplane";
import { reloadedFile } from "./authentication-flags.ts";

const defaultModes = ["RBAC"];
const defaultVersion = "v1beta1";
const defaultAuthorizedMs = 300_000;
const defaultUnauthorizedMs = 30_000;

/** Authorization flags, with kube-apiserver's names, meanings and defaults. */
export const authorizationFlags = {
  "authorization-mode": flag(
    "list",
    defaultModes,
    `authorizers in the order in which they are asked, comma-separated: ${authorizationModes.join(", ")}; ` +
      "group system:masters is always allowed",
  ),
  "authorization-policy-file": flag(
    "string",
    "",
    "file with the ABAC policy, one JSON object per line; for --authorization-mode=ABAC",
  ),
  "authorization-config": flag(
    "string",
    "",
    "file with the AuthorizationConfiguration; reloaded when it changes; excludes " +
      "--authorization-mode and --authorization-webhook-*",
  ),
  "authorization-webhook-config-file": flag(
    "string",
    "",
    "kubeconfig file with the URL and credentials of the authorization webhook; for " +
      "--authorization-mode=Webhook",
  ),
  "authorization-webhook-version": flag(
    "string",
    defaultVersion,
    "API version of the SubjectAccessReviews sent to the authorization webhook",
    { values: ["v1", "v1beta1"] },
  ),
  "authorization-webhook-cache-authorized-ttl": flag(
    "duration",
    defaultAuthorizedMs,
    "time for which `allowed` responses of the authorization webhook are cached",
  ),
  "authorization-webhook-cache-unauthorized-ttl": flag(
    "duration",
    defaultUnauthorizedMs,
    "time for which other responses of the authorization webhook are cached",
  ),
} as const;

type Values = FlagValues<typeof authorizationFlags>;
type Authorization = Pick<
  StartOptions,
  "authorization" | "authorizationConfiguration" | "authorizationWebhook"
>;

/** @throws UsageError for modes and files that do not go together. */
export function authorizationOptions(values: Values): Authorization {
  const file = values["authorization-config"];
  const kubeconfig = values["authorization-webhook-config-file"];
  if (file !== "") {
    if (usesModes(values)) {
      throw new UsageError(
        "--authorization-config can not be specified when --authorization-mode or " +
          "--authorization-webhook-* flags are defined",
      );
    }
    return { authorizationConfiguration: reloadedFile(file, "authorization-config") };
  }
  const authorization = checkModes(values["authorization-mode"]);
  checkPolicies(authorization, values["authorization-policy-file"]);
  const asks = authorization.includes("Webhook");
  if (asks && kubeconfig === "") {
    throw new UsageError("authorization-mode Webhook's authorization config file not passed");
  }
  if (!asks && kubeconfig !== "") {
    const which = "--authorization-webhook-config-file";
    throw new UsageError(`cannot specify ${which} without mode Webhook`);
  }
  if (!asks) return { authorization };
  const authorizationWebhook = {
    kubeconfigFile: path.resolve(kubeconfig),
    version: values["authorization-webhook-version"] === "v1" ? "v1" : "v1beta1",
    authorizedMs: values["authorization-webhook-cache-authorized-ttl"],
    unauthorizedMs: values["authorization-webhook-cache-unauthorized-ttl"],
  } as const;
  return { authorization, authorizationWebhook };
}

function checkPolicies(modes: readonly AuthorizationMode[], file: string): void {
  const isAsked = modes.includes("ABAC");
  if (isAsked && file === "") {
    throw new UsageError("authorization-mode ABAC's authorization policy file not passed");
  }
  if (!isAsked && file !== "") {
    throw new UsageError("cannot specify --authorization-policy-file without mode ABAC");
  }
}

function usesModes(values: Values): boolean {
  return (
    values["authorization-mode"].join() !== defaultModes.join() ||
    values["authorization-webhook-config-file"] !== "" ||
    values["authorization-webhook-version"] !== defaultVersion ||
    values["authorization-webhook-cache-authorized-ttl"] !== defaultAuthorizedMs ||
    values["authorization-webhook-cache-unauthorized-ttl"] !== defaultUnauthorizedMs
  );
}

function checkModes(names: readonly string[]): readonly AuthorizationMode[] {
  if (names.length === 0) throw new UsageError("at least one authorization-mode must be passed");
  if (new Set(names).size < names.length) {
    const shown = names.map((name) => JSON.stringify(name)).join(" ");
    throw new UsageError(`authorization-mode [${shown}] has mode specified more than once`);
  }
  return names.map((name) => {
    const mode = authorizationModes.find((candidate) => candidate === name);
    if (mode !== undefined) return mode;
    const choice = authorizationModes.join(", ");
    throw new UsageError(`--authorization-mode: ${JSON.stringify(name)} is not one of ${choice}`);
  });
}
