import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { featureGates } from "#api";
import { parseSigningKey, signToken } from "#authn";
import { systemClock } from "#base";
import { timesFault } from "#client";
import { type ControllerManagerOptions, runControllers, standardLogger } from "#controlplane";
import { type ControllerSettings } from "#controllers";
import { domainOf } from "#meta";
import { fileFault, kubeconfigEndpoint } from "../flags/kubeconfig-endpoint.ts";
import { untilSignal } from "../flags/until-signal.ts";
import { logFormat } from "../flags/logging-flags.ts";
import { type FlagValues, parseFlags, UsageError } from "../flags/parse.ts";
import { controllerManagerFlags, controllerManagerGroups } from "./flags.ts";
import { selectedControllers } from "./selected-controllers.ts";
import { tuningOf } from "./controller-flags.ts";

type Values = FlagValues<typeof controllerManagerFlags>;

/** Time in milliseconds for which an API server may still treat a deleted namespace as active. */
const settleMs = 1_500;

/**
 * `keelson controller-manager`: runs the controllers until SIGTERM or SIGINT; a second signal exits
 * at once.
 * @throws UsageError for invalid flags, and when the Lease is lost
 */
async function runControllerManager(words: readonly string[]): Promise<void> {
  const options = managerOptions(parseFlags(controllerManagerFlags, words));
  const signal = untilSignal();
  await runControllers(options, signal);
  if (!signal.aborted) throw new UsageError("leader election lost");
}

function managerOptions(values: Values): ControllerManagerOptions {
  const domain = domainOf(values["api-domain"], values["label-domain"] || undefined);
  checkTimes(values);
  const endpoint = () => kubeconfigEndpoint(values.kubeconfig, { master: values.master });
  // Rejects an invalid kubeconfig before anything starts.
  endpoint();
  return {
    endpoint,
    controllers: selectedControllers(values.controllers),
    settings: settingsOf(values),
    leaderElection: values["leader-elect"] ? leaderElectionOf(values) : undefined,
    useServiceAccountCredentials: values["use-service-account-credentials"],
    requestsPerSecond: values["kube-api-qps"],
    burst: values["kube-api-burst"],
    serving: servingOf(values),
    domain,
    clock: systemClock,
    logger: standardLogger(logFormat(values["logging-format"]), values.v),
    onLeader: (leader, isOwn) => console.log(`keelson: ${isOwn ? "leading" : `${leader} leads`}`),
  };
}

function leaderElectionOf(values: Values): ControllerManagerOptions["leaderElection"] {
  return {
    ...timesOf(values),
    namespace: values["leader-elect-resource-namespace"],
    name: values["leader-elect-resource-name"],
    coordinated: featureGates(values["feature-gates"])("CoordinatedLeaderElection"),
  };
}

function servingOf(values: Values): ControllerManagerOptions["serving"] {
  if (values["secure-port"] === 0) return undefined;
  const certificate = readIfNamed(values, "tls-cert-file");
  const privateKey = readIfNamed(values, "tls-private-key-file");
  if ((certificate === "") !== (privateKey === "")) {
    throw new UsageError("--tls-cert-file and --tls-private-key-file must be given together");
  }
  const directory = values["cert-dir"];
  return {
    host: values["bind-address"],
    port: values["secure-port"],
    ...(certificate === "" ? {} : { certificate: { certificate, privateKey } }),
    ...(directory === "" ? {} : { certificateDirectory: directory }),
    clientCa: readIfNamed(values, "client-ca-file"),
  };
}

function settingsOf(values: Values): ControllerSettings {
  const rootCa = readIfNamed(values, "root-ca-file");
  const pem = readIfNamed(values, "service-account-private-key-file");
  const signing = signingOf(values);
  const common = {
    ...tuningOf(values),
    gates: featureGates(values["feature-gates"]),
    settleMs,
    rootCa,
    ...(signing === undefined ? {} : { signing }),
  };
  if (pem === "") return common;
  const key = parseSigningKey(pem);
  return { ...common, signToken: (claims) => signToken(claims, key) };
}

/** @throws UsageError for a certificate without a key, and for a key that does not match it */
function signingOf(values: Values): ControllerSettings["signing"] {
  const certificate = readIfNamed(values, "cluster-signing-cert-file");
  const privateKey = readIfNamed(values, "cluster-signing-key-file");
  if (certificate === "" && privateKey === "") return undefined;
  const flags = "--cluster-signing-cert-file and --cluster-signing-key-file";
  if (certificate === "" || privateKey === "")
    throw new UsageError(`${flags} must be given together`);
  try {
    if (new X509Certificate(certificate).checkPrivateKey(createPrivateKey(privateKey))) {
      const durationMs = values["cluster-signing-duration"];
      return { authority: { certificate, privateKey }, durationMs };
    }
  } catch (error) {
    throw new UsageError(`${flags}: ${(error as Error).message}`);
  }
  throw new UsageError(`${flags} do not match`);
}

function timesOf(values: Values) {
  return {
    leaseDurationMs: values["leader-elect-lease-duration"],
    renewDeadlineMs: values["leader-elect-renew-deadline"],
    retryPeriodMs: values["leader-elect-retry-period"],
  };
}

function checkTimes(values: Values): void {
  const fault = values["leader-elect"] ? timesFault(timesOf(values)) : undefined;
  if (fault !== undefined) throw new UsageError(`--leader-elect: ${fault}`);
}

type FileFlag = { [K in keyof Values]: Values[K] extends string ? K : never }[keyof Values];

function readIfNamed(values: Values, name: FileFlag): string {
  const file = values[name];
  try {
    return file === "" ? "" : readFileSync(file, "utf8");
  } catch (error) {
    throw fileFault(name, error);
  }
}

export const controllerManagerCommand = {
  groups: controllerManagerGroups,
  run: runControllerManager,
} as const;
