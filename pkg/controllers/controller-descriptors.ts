import { type AccountTokenOptions, runAccountTokens } from "./core/service-account-token.ts";
import { runBootstrapSigner } from "./bootstrap/bootstrap-signer.ts";
import { runCertificateApproving } from "./certificates/certificate-approving.ts";
import { runCertificateCleaner } from "./certificates/certificate-cleaner.ts";
import { runCertificateSigning, type SigningSettings } from "./certificates/certificate-signing.ts";
import { runClusterRoleAggregation } from "./rbac/cluster-role-aggregation.ts";
import type { ControllerContext } from "./controller-context.ts";
import {
  type CollectorOptions,
  runGarbageCollector,
} from "./garbage-collector/garbage-collector.ts";
import { type NamespaceOptions, runNamespaceController } from "./core/namespace.ts";
import { runPolicyTypeChecking } from "./admission/policy-type-checking.ts";
import { type QuotaOptions, runResourceQuotaController } from "./core/resource-quota.ts";
import { runRootCaPublisher } from "./core/root-ca-publisher.ts";
import { runServiceAccountController } from "./core/service-account.ts";
import { runTokenCleaner } from "./bootstrap/token-cleaner.ts";

/** What some controllers need beside the API. */
export interface ControllerSettings extends NamespaceOptions, CollectorOptions, QuotaOptions {
  /** Authorities of the API server (PEM); "" = nobody is told of them. */
  readonly rootCa: string;
  /** Signs tokens that lie in Secrets; absent = nobody fills such Secrets. */
  readonly signToken?: AccountTokenOptions["sign"];
  /** Signs the certificates of the cluster; absent = nobody does. */
  readonly signing?: SigningSettings;
}

/** Those of kube-controller-manager. */
export const usualWorkers = {
  namespaceWorkers: 10,
  collectorWorkers: 20,
  quotaWorkers: 5,
  quotaResyncMs: 300_000,
} as const;

/** The longest life of a certificate, as in kube-controller-manager. */
export const signingDurationMs = 365 * 86_400_000;

export interface Controller {
  readonly name: string;
  /** An older name, which is still understood. */
  readonly alias: string;
  /** Its service account in kube-system; absent = it works as the program itself. */
  readonly account?: string;
  /** Runs unless it is taken out; the others must be asked for. */
  readonly onByDefault: boolean;
  /** Until the signal of the context aborts. Resolves at once where a setting is missing. */
  readonly run: (context: ControllerContext, settings: ControllerSettings) => Promise<void>;
}

const controllers: readonly Controller[] = [
  {
    name: "namespace-controller",
    alias: "namespace",
    account: "namespace-controller",
    onByDefault: true,
    run: runNamespaceController,
  },
  {
    name: "garbage-collector-controller",
    alias: "garbagecollector",
    account: "generic-garbage-collector",
    onByDefault: true,
    run: runGarbageCollector,
  },
  {
    name: "serviceaccount-controller",
    alias: "serviceaccount",
    account: "service-account-controller",
    onByDefault: true,
    run: runServiceAccountController,
  },
  {
    name: "serviceaccount-token-controller",
    alias: "serviceaccount-token",
    onByDefault: true,
    run: async (context, { signToken: sign, rootCa: authorities }) => {
      if (sign !== undefined) await runAccountTokens(context, { sign, authorities });
    },
  },
  {
    name: "root-ca-certificate-publisher-controller",
    alias: "root-ca-cert-publisher",
    account: "root-ca-cert-publisher",
    onByDefault: true,
    run: async (context, { rootCa }) => {
      if (rootCa !== "") await runRootCaPublisher(context, rootCa);
    },
  },
  {
    name: "clusterrole-aggregation-controller",
    alias: "clusterrole-aggregation",
    account: "clusterrole-aggregation-controller",
    onByDefault: true,
    run: runClusterRoleAggregation,
  },
  {
    name: "certificatesigningrequest-signing-controller",
    alias: "csrsigning",
    account: "certificate-controller",
    onByDefault: true,
    run: async (context, { signing }) => {
      if (signing !== undefined) await runCertificateSigning(context, signing);
    },
  },
  {
    name: "certificatesigningrequest-approving-controller",
    alias: "csrapproving",
    account: "certificate-controller",
    onByDefault: true,
    run: runCertificateApproving,
  },
  {
    name: "certificatesigningrequest-cleaner-controller",
    alias: "csrcleaner",
    account: "certificate-controller",
    onByDefault: true,
    run: runCertificateCleaner,
  },
  {
    name: "validatingadmissionpolicy-status-controller",
    alias: "validatingadmissionpolicy-status",
    account: "validatingadmissionpolicy-status-controller",
    onByDefault: true,
    run: runPolicyTypeChecking,
  },
  {
    name: "resourcequota-controller",
    alias: "resourcequota",
    account: "resourcequota-controller",
    onByDefault: true,
    run: runResourceQuotaController,
  },
  {
    name: "bootstrap-signer-controller",
    alias: "bootstrapsigner",
    account: "bootstrap-signer",
    onByDefault: false,
    run: runBootstrapSigner,
  },
  {
    name: "token-cleaner-controller",
    alias: "tokencleaner",
    account: "token-cleaner",
    onByDefault: false,
    run: runTokenCleaner,
  },
];

/**
 * The controllers that `--controllers` asks for: `*` is all that are on by default, `name` one
 * more, `-name` one less. Throws a RangeError that names an unknown controller.
 */
export function selectControllers(words: readonly string[]): readonly Controller[] {
  const names = new Set(words.map(fullName));
  return controllers.filter(({ name, onByDefault }) => {
    if (names.has(`-${name}`)) return false;
    return names.has(name) || (onByDefault && names.has("*"));
  });
}

function fullName(word: string): string {
  if (word === "*") return word;
  const [, sign = "", name = ""] = /^(-?)(.*)$/.exec(word) ?? [];
  const found = controllers.find((each) => each.name === name || each.alias === name);
  if (found === undefined) throw new RangeError(`${JSON.stringify(name)} is no known controller`);
  return `${sign}${found.name}`;
}
