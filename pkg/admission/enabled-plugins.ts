/** Which plugins are enabled, from `--enable-admission-plugins` and `--disable-admission-plugins`. */
import { admissionOrder } from "./order.ts";

/** A mistake in the flags or the configuration of admission plugins, in one sentence. */
export class AdmissionPluginError extends Error {
  override readonly name = "AdmissionPluginError";
}

export interface AdmissionPluginFlags {
  readonly enable?: readonly string[];
  readonly disable?: readonly string[];
}

const plugins = admissionOrder.filter(({ enabled }) => enabled !== "always");

/** @throws AdmissionPluginError for an enabled plugin that lacks a required configuration */
export function checkConfigured(
  enabled: ReadonlySet<string>,
  configuration: ReadonlyMap<string, unknown>,
): void {
  const missing = plugins.find(
    ({ name, requiresConfiguration }) =>
      requiresConfiguration && enabled.has(name) && !configuration.has(name),
  );
  if (missing === undefined) return;
  const name = JSON.stringify(missing.name);
  throw new AdmissionPluginError(
    `admission plugin ${name} needs its part of admission-control-config-file`,
  );
}

/**
 * Names of the enabled plugins.
 * @throws AdmissionPluginError for a name that is unknown, in both flags, unsupported, or cannot be
 * disabled
 */
export function enabledPlugins({
  enable = [],
  disable = [],
}: AdmissionPluginFlags): ReadonlySet<string> {
  checkNames("enable-admission-plugins", enable);
  checkNames("disable-admission-plugins", disable);
  const both = enable.filter((name) => disable.includes(name));
  if (both.length > 0) {
    const flags = "enable-admission-plugins and disable-admission-plugins";
    throw new AdmissionPluginError(`${both.join(", ")} in ${flags} overlapped`);
  }
  const unsupported = plugins.find(
    (plugin) => plugin.enabled === "unsupported" && enable.includes(plugin.name),
  );
  if (unsupported !== undefined) {
    const name = JSON.stringify(unsupported.name);
    throw new AdmissionPluginError(
      `enable-admission-plugins plugin ${name} is not part of this server`,
    );
  }
  // The registry relies on it: without it, objects could be created in namespaces that are gone.
  if (disable.includes("NamespaceLifecycle")) {
    throw new AdmissionPluginError(
      'disable-admission-plugins plugin "NamespaceLifecycle" cannot be switched off',
    );
  }
  const onByDefault = plugins.filter(({ enabled }) => enabled === "default");
  const disabled = new Set(disable);
  return new Set(
    [...onByDefault.map(({ name }) => name), ...enable].filter((name) => !disabled.has(name)),
  );
}

function checkNames(flag: string, names: readonly string[]): void {
  const unknown = names.find((name) => !plugins.some((plugin) => plugin.name === name));
  if (unknown === undefined) return;
  throw new AdmissionPluginError(`${flag} plugin ${JSON.stringify(unknown)} is unknown`);
}
