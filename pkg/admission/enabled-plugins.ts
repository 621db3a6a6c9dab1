/** The plugins of admission by the names that flags give them. */

/** A mistake in `--enable-admission-plugins` or `--disable-admission-plugins`, in one sentence. */
export class AdmissionPluginError extends Error {
  override readonly name = "AdmissionPluginError";
}

export interface AdmissionPluginFlags {
  readonly enable?: readonly string[];
  readonly disable?: readonly string[];
}

/** On unless they are switched off, as in release 1.34. */
const onByDefault = [
  "NamespaceLifecycle",
  "LimitRanger",
  "ServiceAccount",
  "TaintNodesByCondition",
  "PodSecurity",
  "Priority",
  "DefaultTolerationSeconds",
  "DefaultStorageClass",
  "StorageObjectInUseProtection",
  "PersistentVolumeClaimResize",
  "RuntimeClass",
  "CertificateApproval",
  "CertificateSigning",
  "ClusterTrustBundleAttest",
  "CertificateSubjectRestriction",
  "DefaultIngressClass",
  "PodTopologyLabels",
  "MutatingAdmissionPolicy",
  "MutatingAdmissionWebhook",
  "ValidatingAdmissionPolicy",
  "ValidatingAdmissionWebhook",
  "ResourceQuota",
];

/** Off unless they are switched on; AlwaysAdmit and NamespaceExists have nothing left to do. */
const offered = [
  "AlwaysAdmit",
  "AlwaysPullImages",
  "DenyServiceExternalIPs",
  "EventRateLimit",
  "ExtendedResourceToleration",
  "ImagePolicyWebhook",
  "LimitPodHardAntiAffinityTopology",
  "NamespaceAutoProvision",
  "NamespaceExists",
  "NodeRestriction",
  "OwnerReferencesPermissionEnforcement",
  "PodNodeSelector",
  "PodTolerationRestriction",
];

/** Kubernetes has it, this server has not: nobody could write anything, not even the server. */
const absent = ["AlwaysDeny"];

/** They do nothing without being told what to do. */
const configured = ["EventRateLimit", "ImagePolicyWebhook"];

/** @throws AdmissionPluginError for a plugin that is on and knows nothing to do */
export function checkConfigured(on: ReadonlySet<string>, told: object): void {
  const missing = configured.find((name) => on.has(name) && !Object.hasOwn(told, name));
  if (missing === undefined) return;
  throw new AdmissionPluginError(
    `admission plugin ${JSON.stringify(missing)} needs its part of admission-control-config-file`,
  );
}

/**
 * The names of the plugins that are on.
 * @throws AdmissionPluginError for names that nobody knows, that are switched both ways, or that
 * cannot be switched so.
 */
export function enabledPlugins({
  enable = [],
  disable = [],
}: AdmissionPluginFlags): ReadonlySet<string> {
  check("enable-admission-plugins", enable);
  check("disable-admission-plugins", disable);
  const both = enable.filter((name) => disable.includes(name));
  if (both.length > 0) {
    const flags = "enable-admission-plugins and disable-admission-plugins";
    throw new AdmissionPluginError(`${both.join(", ")} in ${flags} overlapped`);
  }
  const missing = enable.find((name) => absent.includes(name));
  if (missing !== undefined) {
    throw new AdmissionPluginError(
      `enable-admission-plugins plugin ${JSON.stringify(missing)} is not part of this server`,
    );
  }
  // Every write asks for its namespace; there is no writing without.
  if (disable.includes("NamespaceLifecycle")) {
    throw new AdmissionPluginError(
      'disable-admission-plugins plugin "NamespaceLifecycle" cannot be switched off',
    );
  }
  const off = new Set(disable);
  return new Set([...onByDefault, ...enable].filter((name) => !off.has(name)));
}

function check(flag: string, names: readonly string[]): void {
  const known = [...onByDefault, ...offered, ...absent];
  const unknown = names.find((name) => !known.includes(name));
  if (unknown === undefined) return;
  throw new AdmissionPluginError(`${flag} plugin ${JSON.stringify(unknown)} is unknown`);
}
