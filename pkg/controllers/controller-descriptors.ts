import {
  type ServiceAccountTokenOptions,
  runServiceAccountTokenController,
} from "./core/service-account-token-controller.ts";
import { runBootstrapSigner } from "./bootstrap/bootstrap-signer.ts";
import { runApprovingController } from "./certificates/approving-controller.ts";
import { runCleanerController } from "./certificates/cleaner-controller.ts";
import { runSigningController, type SigningSettings } from "./certificates/signing-controller.ts";
import { runClusterRoleAggregation } from "./rbac/cluster-role-aggregation.ts";
import type { ControllerContext } from "./controller-context.ts";
import {
  type GarbageCollectorOptions,
  runGarbageCollector,
} from "./garbage-collector/garbage-collector.ts";
import { type NamespaceOptions, runNamespaceController } from "./core/namespace-controller.ts";
import { runValidatingAdmissionPolicyStatus } from "./admission/validating-admission-policy-status.ts";
import { type QuotaOptions, runResourceQuotaController } from "./core/resource-quota-controller.ts";
import { runRootCaPublisher } from "./core/root-ca-publisher.ts";
import { runServiceAccountController } from "./core/service-account-controller.ts";
import { runTokenCleaner } from "./bootstrap/token-cleaner.ts";

/** What some controllers need beside the API. */
export interface ControllerSettings
  extends NamespaceOptions, GarbageCollectorOptions, QuotaOptions {
  /** Authorities of the API server (PEM); "" = nobody is told of them. */
  readonly rootCa: string;
  /** Signs tokens that lie in Secrets; absent = nobody fills such Secrets. */
  readonly signToken?: ServiceAccountTokenOptions["sign"];
  /** Signs the certificates of the cluster; absent = nobody does. */
  readonly signing?: SigningSettings;
}

/** Those of kube-controller-manager. */
export const defaultControllerSettings = {
  namespaceWorkers: 10,
  garbageCollectorWorkers: 20,
  quotaWorkers: 5,
  quotaResyncMs: 300_000,
} as const;

/** The longest life of a certificate, as in kube-controller-manager. */
export const signingDurationMs = 365 * 86_400_000;

export interface ControllerDescriptor {
  readonly name: string;
  /** An older name, which is still understood. */
  readonly alias: string;
  /** Its service account in kube-system; absent = it works as the program itself. */
  readonly serviceAccount?: string;
  /** Runs unless it is taken out; the others must be asked for. */
  readonly enabledByDefault: boolean;
  /** Until the signal of the context aborts. Resolves at once where a setting is missing. */
  readonly run: (context: ControllerContext, settings: ControllerSettings) => Promise<void>;
}

const controllerDescriptors: readonly ControllerDescriptor[] = [
  {
    name: "namespace-controller",
    alias: "namespace",
    serviceAccount: "namespace-controller",
    enabledByDefault: true,
    run: runNamespaceController,
  },
  {
    name: "garbage-collector-controller",
    alias: "garbagecollector",
    serviceAccount: "generic-garbage-collector",
    enabledByDefault: true,
    run: runGarbageCollector,
  },
  {
    name: "serviceaccount-controller",
    alias: "serviceaccount",
    serviceAccount: "service-account-controller",
    enabledByDefault: true,
    run: runServiceAccountController,
  },
  {
    name: "serviceaccount-token-controller",
    alias: "serviceaccount-token",
    enabledByDefault: true,
    run: async (context, { signToken: sign, rootCa: authorities }) => {
      if (sign !== undefined)
        await runServiceAccountTokenController(context, { sign, authorities });
    },
  },
  {
    name: "root-ca-certificate-publisher-controller",
    alias: "root-ca-cert-publisher",
    serviceAccount: "root-ca-cert-publisher",
    enabledByDefault: true,
    run: async (context, { rootCa }) => {
      if (rootCa !== "") await runRootCaPublisher(context, rootCa);
    },
  },
  {
    name: "clusterrole-aggregation-controller",
    alias: "clusterrole-aggregation",
    serviceAccount: "clusterrole-aggregation-controller",
    enabledByDefault: true,
    run: runClusterRoleAggregation,
  },
  {
    name: "certificatesigningrequest-signing-controller",
    alias: "csrsigning",
    serviceAccount: "certificate-controller",
    enabledByDefault: true,
    run: async (context, { signing }) => {
      if (signing !== undefined) await runSigningController(context, signing);
    },
  },
  {
    name: "certificatesigningrequest-approving-controller",
    alias: "csrapproving",
    serviceAccount: "certificate-controller",
    enabledByDefault: true,
    run: runApprovingController,
  },
  {
    name: "certificatesigningrequest-cleaner-controller",
    alias: "csrcleaner",
    serviceAccount: "certificate-controller",
    enabledByDefault: true,
    run: runCleanerController,
  },
  {
    name: "validatingadmissionpolicy-status-controller",
    alias: "validatingadmissionpolicy-status",
    serviceAccount: "validatingadmissionpolicy-status-controller",
    enabledByDefault: true,
    run: runValidatingAdmissionPolicyStatus,
  },
  {
    name: "resourcequota-controller",
    alias: "resourcequota",
    serviceAccount: "resourcequota-controller",
    enabledByDefault: true,
    run: runResourceQuotaController,
  },
  {
    name: "bootstrap-signer-controller",
    alias: "bootstrapsigner",
    serviceAccount: "bootstrap-signer",
    enabledByDefault: false,
    run: runBootstrapSigner,
  },
  {
    name: "token-cleaner-controller",
    alias: "tokencleaner",
    serviceAccount: "token-cleaner",
    enabledByDefault: false,
    run: runTokenCleaner,
  },
];

/**
 * The controllers that `--controllers` asks for: `*` is all that are on by default, `name` one
 * more, `-name` one less. Throws a RangeError that names an unknown controller.
 */
export function selectControllers(words: readonly string[]): readonly ControllerDescriptor[] {
  const names = new Set(words.map(fullName));
  return controllerDescriptors.filter(({ name, enabledByDefault }) => {
    if (names.has(`-${name}`)) return false;
    return names.has(name) || (enabledByDefault && names.has("*"));
  });
}

function fullName(word: string): string {
  if (word === "*") return word;
  const [, sign = "", name = ""] = /^(-?)(.*)$/.exec(word) ?? [];
  const found = controllerDescriptors.find((each) => each.name === name || each.alias === name);
  if (found === undefined) throw new RangeError(`${JSON.stringify(name)} is no known controller`);
  return `${sign}${found.name}`;
}
