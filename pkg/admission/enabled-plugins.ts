/** Enabled plugins by `--enable-admission-plugins` and `--disable-admission-plugins`. */
import { admissionOrder } from "./order.ts";

/** Invalid flags or configuration of admission plugins; the message is one sentence. */
export class AdmissionPluginError extends Error {
  override readonly name = "AdmissionPluginError";
}

export interface AdmissionPluginFlags {
  readonly enable?: readonly string[];
  readonly disable?: readonly string[];
  /** `--admission-control`: all plugins to enable; absent or empty = not given. */
  readonly only?: readonly string[];
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
 * @throws AdmissionPluginError for a name that is unknown, in both flags, unsupported, or not disableable
 */
export function enabledPlugins({
  enable = [],
  disable = [],
  only = [],
}: AdmissionPluginFlags): ReadonlySet<string> {
  if (only.length > 0) return onlyPlugins(only, [...enable, ...disable]);
  checkNames("enable-admission-plugins", enable);
  checkNames("disable-admission-plugins", disable);
  const both = enable.filter((name) => disable.includes(name));
  if (both.length > 0) {
    const flags = "enable-admission-plugins and disable-admission-plugins";
    throw new AdmissionPluginError(`${both.join(", ")} in ${flags} overlapped`);
  }
  checkSupported("enable-admission-plugins", enable);
  // The registry depends on it: otherwise objects could be created in deleted namespaces.
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

/** Plugins of the deprecated flag `--admission-control`, which replaces the defaults. */
function onlyPlugins(only: readonly string[], others: readonly string[]): ReadonlySet<string> {
  const flag = "admission-control";
  if (others.length > 0) {
    throw new AdmissionPluginError(
      `${flag} and enable-admission-plugins/disable-admission-plugins flags are mutually exclusive`,
    );
  }
  checkNames(flag, only);
  checkSupported(flag, only);
  if (!only.includes("NamespaceLifecycle")) {
    throw new AdmissionPluginError(
      `${flag} lacks plugin "NamespaceLifecycle", which cannot be switched off`,
    );
  }
  return new Set(only);
}

function checkSupported(flag: string, names: readonly string[]): void {
  const unsupported = plugins.find(
    ({ name, enabled }) => enabled === "unsupported" && names.includes(name),
  );
  if (unsupported === undefined) return;
  const name = JSON.stringify(unsupported.name);
  throw new AdmissionPluginError(`${flag} plugin ${name} is not part of this server`);
}

function checkNames(flag: string, names: readonly string[]): void {
  const unknown = names.find((name) => !plugins.some((plugin) => plugin.name === name));
  if (unknown === undefined) return;
  throw new AdmissionPluginError(`${flag} plugin ${JSON.stringify(unknown)} is unknown`);
}
