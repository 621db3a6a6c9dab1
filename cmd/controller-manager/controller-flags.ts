import {
  type ControllerSettings,
  defaultControllerSettings,
  signingDurationMs,
} from "#controllers";
import { flag, type FlagValues } from "../flags/parse.ts";
import { appsFlags, appsSettings } from "./apps-flags.ts";
import { batchFlags, batchSettings } from "./batch-flags.ts";
import { networkFlags, networkSettings } from "./network-flags.ts";
import { nodeFlags, nodeSettings } from "./node-flags.ts";
import { volumeFlags, volumeSettings } from "./volume-flags.ts";

const atLeast1 = { minimum: 1 };

/** Flags of individual controllers, with kube-controller-manager's names and defaults. */
export const controllerFlags = {
  "cluster-signing-cert-file": flag(
    "string",
    "",
    "file with the CA certificate that issues certificates for CertificateSigningRequests (PEM)",
  ),
  "cluster-signing-key-file": flag(
    "string",
    "",
    "file with the private key of --cluster-signing-cert-file (PEM)",
  ),
  "cluster-signing-duration": flag(
    "duration",
    signingDurationMs,
    "maximum validity of signed certificates; spec.expirationSeconds may request less",
  ),
  ...appsFlags,
  ...batchFlags,
  ...networkFlags,
  ...nodeFlags,
  ...volumeFlags,
  "concurrent-ephemeralvolume-syncs": flag(
    "int",
    defaultControllerSettings.ephemeralVolumeWorkers,
    "number of pods whose ephemeral volumes are synced concurrently",
    atLeast1,
  ),
  "concurrent-gc-syncs": flag(
    "int",
    defaultControllerSettings.garbageCollectorWorkers,
    "number of garbage collector workers that run concurrently",
    atLeast1,
  ),
  "concurrent-horizontal-pod-autoscaler-syncs": flag(
    "int",
    defaultControllerSettings.autoscalerWorkers,
    "number of horizontal pod autoscalers that are synced concurrently",
    atLeast1,
  ),
  "concurrent-namespace-syncs": flag(
    "int",
    defaultControllerSettings.namespaceWorkers,
    "number of namespaces that are synced concurrently",
    atLeast1,
  ),
  "concurrent-resource-quota-syncs": flag(
    "int",
    defaultControllerSettings.quotaWorkers,
    "number of resource quotas that are synced concurrently",
    atLeast1,
  ),
  "horizontal-pod-autoscaler-cpu-initialization-period": flag(
    "duration",
    defaultControllerSettings.cpuInitializationMs,
    "period after the start of a pod in which CPU samples are ignored until the pod is ready",
  ),
  "horizontal-pod-autoscaler-downscale-stabilization": flag(
    "duration",
    defaultControllerSettings.downscaleStabilizationMs,
    "period whose highest recommendation an autoscaler does not scale below",
  ),
  "horizontal-pod-autoscaler-initial-readiness-delay": flag(
    "duration",
    defaultControllerSettings.initialReadinessMs,
    "period after the start of a pod in which changes of its readiness are treated as its " +
      "initial readiness",
  ),
  "horizontal-pod-autoscaler-sync-period": flag(
    "duration",
    defaultControllerSettings.autoscalerSyncMs,
    "interval at which the number of pods of a horizontal pod autoscaler is synced",
  ),
  "horizontal-pod-autoscaler-tolerance": flag(
    "float",
    defaultControllerSettings.autoscalerTolerance,
    "minimum relative difference between a metric and its target that changes the replica count",
  ),
  "legacy-service-account-token-clean-up-period": flag(
    "duration",
    defaultControllerSettings.legacyTokenCleanUpMs,
    "period without use after which a generated service account token is marked invalid, and " +
      "after the same period again deleted",
  ),
  "resource-quota-sync-period": flag(
    "duration",
    defaultControllerSettings.quotaResyncMs,
    "interval of full recalculation of the usage of all resource quotas",
  ),
  "root-ca-file": flag(
    "string",
    "",
    "file with the CA certificates of the API server (PEM), published in service account token " +
      "Secrets and the ConfigMap kube-root-ca.crt of each namespace",
  ),
  "service-account-private-key-file": flag(
    "string",
    "",
    "file with the private key that signs tokens in service account token Secrets (PEM)",
  ),
  "terminated-pod-gc-threshold": flag(
    "int",
    defaultControllerSettings.terminatedPodThreshold,
    "number of terminated pods above which the oldest ones are deleted; 0 or less = none are " +
      "deleted",
  ),
} as const;

type Values = FlagValues<typeof controllerFlags>;

/** Translates the flags that are numbers and periods into settings of controllers. */
export function tuningOf(values: Values): Omit<ControllerSettings, "rootCa" | "settleMs"> {
  return {
    namespaceWorkers: values["concurrent-namespace-syncs"],
    garbageCollectorWorkers: values["concurrent-gc-syncs"],
    quotaWorkers: values["concurrent-resource-quota-syncs"],
    quotaResyncMs: values["resource-quota-sync-period"],
    ...appsSettings(values),
    ...batchSettings(values),
    ...networkSettings(values),
    ...nodeSettings(values),
    ...volumeSettings(values),
    resourceClaimWorkers: defaultControllerSettings.resourceClaimWorkers,
    ephemeralVolumeWorkers: values["concurrent-ephemeralvolume-syncs"],
    legacyTokenCleanUpMs: values["legacy-service-account-token-clean-up-period"],
    terminatedPodThreshold: values["terminated-pod-gc-threshold"],
    autoscalerWorkers: values["concurrent-horizontal-pod-autoscaler-syncs"],
    autoscalerSyncMs: values["horizontal-pod-autoscaler-sync-period"],
    downscaleStabilizationMs: values["horizontal-pod-autoscaler-downscale-stabilization"],
    autoscalerTolerance: values["horizontal-pod-autoscaler-tolerance"],
    cpuInitializationMs: values["horizontal-pod-autoscaler-cpu-initialization-period"],
    initialReadinessMs: values["horizontal-pod-autoscaler-initial-readiness-delay"],
  };
}
