import {
  defaultLegacyTokenCleanUpMs,
  type LegacyTokenCleanerOptions,
  runLegacyTokenCleaner,
} from "./core/legacy-token-cleaner.ts";
import {
  defaultTerminatedPodThreshold,
  type PodGarbageCollectorOptions,
  runPodGarbageCollector,
} from "./pod-garbage-collector/pod-garbage-collector.ts";
import {
  type EphemeralVolumeOptions,
  runEphemeralVolumeController,
} from "./volume/ephemeral-volume-controller.ts";
import { runPodCertificateRequestCleaner } from "./certificates/pod-certificate-request-cleaner.ts";
import { runTrustBundlePublisher } from "./certificates/trust-bundle-publisher.ts";
import { runStorageVersionGarbageCollector } from "./storage-version/storage-version-garbage-collector.ts";
import { runStorageVersionMigrator } from "./storage-version/storage-version-migrator.ts";
import {
  type AutoscalerOptions,
  defaultAutoscalerOptions,
  runHorizontalPodAutoscaler,
} from "./autoscaling/horizontal-pod-autoscaler-controller.ts";
import {
  type ServiceAccountTokenOptions,
  runServiceAccountTokenController,
} from "./core/service-account-token-controller.ts";
import { type BootstrapSignerOptions, runBootstrapSigner } from "./bootstrap/bootstrap-signer.ts";
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
import {
  appsControllers,
  type AppsSettings,
  defaultAppsSettings,
} from "./apps/apps-controllers.ts";
import {
  batchControllers,
  type BatchSettings,
  defaultBatchSettings,
} from "./batch/batch-controllers.ts";
import {
  defaultNodeSettings,
  nodeControllers,
  type NodeSettings,
} from "./node/node-controllers.ts";
import {
  defaultVolumeSettings,
  volumeControllers,
  type VolumeSettings,
} from "./volume/volume-controllers.ts";
import {
  defaultResourceSettings,
  resourceControllers,
  type ResourceSettings,
} from "./resource/resource-controllers.ts";
import { runDisruptionController } from "./disruption/disruption-controller.ts";
import {
  defaultNetworkSettings,
  networkControllers,
  type NetworkSettings,
} from "./network/network-controllers.ts";
import { runServiceCidrController } from "./network/service-cidr-controller.ts";
import { runPersistentVolumeClaimProtection } from "./volume/pvc-protection-controller.ts";
import { runPersistentVolumeProtection } from "./volume/pv-protection-controller.ts";
import { runVolumeAttributesClassProtection } from "./volume/vac-protection-controller.ts";
import { runTokenCleaner } from "./bootstrap/token-cleaner.ts";

/** Settings of all controllers. */
export interface ControllerSettings
  extends
    NamespaceOptions,
    GarbageCollectorOptions,
    QuotaOptions,
    AutoscalerOptions,
    LegacyTokenCleanerOptions,
    PodGarbageCollectorOptions,
    EphemeralVolumeOptions,
    BootstrapSignerOptions,
    AppsSettings,
    BatchSettings,
    NetworkSettings,
    NodeSettings,
    VolumeSettings,
    ResourceSettings {
  /** CA certificates of the API server (PEM); "" = not published. */
  readonly rootCa: string;
  /** Content of the ConfigMaps `kube-root-ca.crt`; absent = `rootCa`. */
  readonly rootCaText?: string;
  /** Signs tokens for service account token Secrets; absent = the Secrets are not populated. */
  readonly signToken?: ServiceAccountTokenOptions["sign"];
  /** Signs CertificateSigningRequests; absent = none are signed. */
  readonly signing?: SigningSettings;
}

/** kube-controller-manager's defaults. */
export const defaultControllerSettings = {
  namespaceWorkers: 10,
  garbageCollectorWorkers: 20,
  quotaWorkers: 5,
  quotaResyncMs: 300_000,
  ...defaultAppsSettings,
  ...defaultAutoscalerOptions,
  ...defaultBatchSettings,
  ...defaultNetworkSettings,
  ...defaultNodeSettings,
  ...defaultVolumeSettings,
  ...defaultResourceSettings,
  ephemeralVolumeWorkers: 5,
  legacyTokenCleanUpMs: defaultLegacyTokenCleanUpMs,
  terminatedPodThreshold: defaultTerminatedPodThreshold,
} as const;

/** Maximum validity of a signed certificate: kube-controller-manager's default, one year. */
export const signingDurationMs = 365 * 86_400_000;

export interface ControllerDescriptor {
  readonly name: string;
  /** Legacy name, accepted by `--controllers`; absent = none. */
  readonly alias?: string;
  /** Name of its ServiceAccount in kube-system; absent = it uses the credentials of the process. */
  readonly serviceAccount?: string;
  /** Whether `*` of `--controllers` includes it. */
  readonly enabledByDefault: boolean;
  /** Runs until the signal of the context aborts; returns at once if a setting is missing. */
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
    run: async (context, { rootCa, rootCaText = rootCa }) => {
      if (rootCaText !== "") await runRootCaPublisher(context, rootCaText);
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
    name: "persistentvolumeclaim-protection-controller",
    alias: "pvc-protection",
    serviceAccount: "pvc-protection-controller",
    enabledByDefault: true,
    run: runPersistentVolumeClaimProtection,
  },
  {
    name: "persistentvolume-protection-controller",
    alias: "pv-protection",
    serviceAccount: "pv-protection-controller",
    enabledByDefault: true,
    run: runPersistentVolumeProtection,
  },
  {
    name: "volumeattributesclass-protection-controller",
    serviceAccount: "volumeattributesclass-protection-controller",
    enabledByDefault: true,
    run: runVolumeAttributesClassProtection,
  },
  {
    name: "disruption-controller",
    alias: "disruption",
    serviceAccount: "disruption-controller",
    enabledByDefault: true,
    run: runDisruptionController,
  },
  ...appsControllers,
  ...batchControllers,
  ...networkControllers,
  ...nodeControllers,
  ...volumeControllers,
  ...resourceControllers,
  {
    name: "pod-garbage-collector-controller",
    alias: "podgc",
    serviceAccount: "pod-garbage-collector",
    enabledByDefault: true,
    run: runPodGarbageCollector,
  },
  {
    name: "ephemeral-volume-controller",
    alias: "ephemeral-volume",
    serviceAccount: "ephemeral-volume-controller",
    enabledByDefault: true,
    run: runEphemeralVolumeController,
  },
  {
    name: "legacy-serviceaccount-token-cleaner-controller",
    alias: "legacy-service-account-token-cleaner",
    serviceAccount: "legacy-service-account-token-cleaner",
    enabledByDefault: true,
    run: runLegacyTokenCleaner,
  },
  {
    name: "storageversion-garbage-collector-controller",
    alias: "storage-version-gc",
    serviceAccount: "storage-version-garbage-collector",
    enabledByDefault: true,
    run: runStorageVersionGarbageCollector,
  },
  {
    name: "storage-version-migrator-controller",
    alias: "svm",
    serviceAccount: "storage-version-migrator-controller",
    enabledByDefault: true,
    run: runStorageVersionMigrator,
  },
  {
    name: "podcertificaterequest-cleaner-controller",
    serviceAccount: "podcertificaterequestcleaner",
    enabledByDefault: true,
    run: runPodCertificateRequestCleaner,
  },
  {
    name: "kube-apiserver-serving-clustertrustbundle-publisher-controller",
    serviceAccount: "kube-apiserver-serving-clustertrustbundle-publisher",
    enabledByDefault: true,
    run: async (context, { rootCa }) => {
      if (rootCa !== "") await runTrustBundlePublisher(context, rootCa);
    },
  },
  {
    name: "horizontal-pod-autoscaler-controller",
    alias: "horizontalpodautoscaling",
    serviceAccount: "horizontal-pod-autoscaler",
    enabledByDefault: true,
    run: runHorizontalPodAutoscaler,
  },
  {
    name: "service-cidr-controller",
    serviceAccount: "service-cidrs-controller",
    enabledByDefault: true,
    run: runServiceCidrController,
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
 * Controllers selected by `--controllers`: `*` = all that are enabled by default, `name` adds one, `-name`
 * removes one.
 * @throws RangeError that names an unknown controller
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
  if (found === undefined)
    throw new RangeError(`${JSON.stringify(name)} is not in the list of known controllers`);
  return `${sign}${found.name}`;
}
