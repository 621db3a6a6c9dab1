/** Validation of a KubeSchedulerConfiguration, with kube-scheduler's messages. */
import { deepEqual } from "#base";
import { isExtendedName } from "#api";
import { type Domain, isQualifiedName, parseDuration, resolve } from "#meta";
import { Path, type Problems } from "#schema";
import { extensionPoints } from "../framework/extension-points.ts";
import { checkPluginArgs } from "./check-plugin-args.ts";
import { isArgsName } from "./plugin-args.ts";
import type { GivenArgs } from "./plugin-args-structs.ts";
import type {
  Configuration,
  ExtenderConfiguration,
  PluginSetConfiguration,
  ProfileConfiguration,
} from "./structs.ts";

const removedPlugins = ["AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"];

export function checkConfiguration(
  configuration: Configuration,
  args: readonly GivenArgs[],
  problems: Problems,
  domain: Domain,
): void {
  const { clientConnection, parallelism = 16, profiles = [{}], extenders = [] } = configuration;
  const { burst = 0 } = clientConnection ?? {};
  const burstPath = Path.of("clientConnection").child("burst");
  if (burst < 0) problems.invalid(burstPath, burst, "must be non-negative");
  checkLeaderElection(configuration, problems);
  if (parallelism <= 0) {
    const detail = "should be an integer value greater than zero";
    problems.invalid(Path.of("parallelism"), parallelism, detail);
  }
  checkProfiles(profiles, args, problems, domain);
  checkPercentage(configuration.percentageOfNodesToScore, Path.root, problems);
  const { podInitialBackoffSeconds: first = 1, podMaxBackoffSeconds: most = 10 } = configuration;
  if (first <= 0) {
    problems.invalid(Path.of("podInitialBackoffSeconds"), first, "must be greater than 0");
  }
  if (most < first) {
    const detail = "must be greater than or equal to PodInitialBackoffSeconds";
    problems.invalid(Path.of("podMaxBackoffSeconds"), most, detail);
  }
  checkExtenders(extenders, problems);
}

/** Defaults an absent or zero duration. */
export function durationOr(text: string | undefined, usual: string): string {
  return text === undefined || parseDuration(text) === 0n ? usual : text;
}

function checkLeaderElection({ leaderElection = {} }: Configuration, problems: Problems): void {
  if (leaderElection.leaderElect === false) return;
  const path = Path.of("leaderElection");
  const lease = durationOr(leaderElection.leaseDuration, "15s");
  const renew = durationOr(leaderElection.renewDeadline, "10s");
  const retry = durationOr(leaderElection.retryPeriod, "2s");
  const positive = "must be greater than zero";
  for (const [field, text] of Object.entries({
    leaseDuration: lease,
    renewDeadline: renew,
    retryPeriod: retry,
  })) {
    if (parseDuration(text) <= 0n) problems.invalid(path.child(field), text, positive);
  }
  if (parseDuration(lease) <= parseDuration(renew)) {
    problems.invalid(path.child("leaseDuration"), renew, "must be greater than `RenewDeadline`");
  }
  const lock = leaderElection.resourceLock || "leases";
  if (lock === "leases") return;
  problems.invalid(path.child("resourceLock"), lock, 'resourceLock value must be "leases"');
}

function checkProfiles(
  profiles: readonly ProfileConfiguration[],
  args: readonly GivenArgs[],
  problems: Problems,
  domain: Domain,
): void {
  const root = Path.of("profiles");
  const seen = new Set<string>();
  for (const [at, profile] of profiles.entries()) {
    const path = root.index(at);
    const isOnly = profiles.length === 1 && profile.schedulerName === undefined;
    const name = isOnly ? "default-scheduler" : (profile.schedulerName ?? "");
    if (name === "") problems.required(path.child("schedulerName"));
    checkPercentage(profile.percentageOfNodesToScore, path, problems);
    checkPlugins(profile, path, problems, domain);
    checkPluginConfig(profile, args[at] ?? {}, path, problems);
    if (seen.has(name)) problems.duplicate(path.child("schedulerName"), {});
    seen.add(name);
  }
  checkQueueSort(profiles, root, problems);
}

function checkPercentage(percentage: number | undefined, path: Path, problems: Problems): void {
  if (percentage === undefined || (percentage >= 0 && percentage <= 100)) return;
  const place = path.child("percentageOfNodesToScore");
  problems.invalid(place, percentage, "not in valid range [0-100]");
}

function checkPlugins(
  { plugins = {} }: ProfileConfiguration,
  path: Path,
  problems: Problems,
  domain: Domain,
): void {
  for (const point of extensionPoints) {
    for (const [at, { name = "" }] of (plugins[point]?.enabled ?? []).entries()) {
      const place = path.child("plugins", point, "enabled").index(at);
      if (removedPlugins.includes(name)) problems.invalid(place, name, removedText(domain));
    }
  }
}

function removedText(domain: Domain): string {
  const version = resolve("kubescheduler.config.{api}/v1", domain);
  return `was invalid in version "v1" (KubeSchedulerConfiguration is version "${version}")`;
}

function checkPluginConfig(
  { pluginConfig = [] }: ProfileConfiguration,
  args: GivenArgs,
  path: Path,
  problems: Problems,
): void {
  const seen = new Set<string>();
  for (const [at, { name = "" }] of pluginConfig.entries()) {
    const place = path.child("pluginConfig").index(at);
    if (seen.has(name)) {
      problems.duplicate(place, name);
      continue;
    }
    seen.add(name);
    // kube-scheduler validates these when it creates the plugin.
    if (!isArgsName(name) || name === "NodeResourcesFit") continue;
    const given = args[name];
    if (given !== undefined) checkPluginArgs(name, given as never, place.child("args"), problems);
  }
}

function checkQueueSort(
  profiles: readonly ProfileConfiguration[],
  root: Path,
  problems: Problems,
): void {
  const setOf = ({ plugins }: ProfileConfiguration) => plugins?.queueSort ?? {};
  const first = setOf(profiles[0] ?? {});
  const count = first.enabled?.length ?? 0;
  if (count > 1) {
    const place = root.index(0).child("plugins", "queueSort", "Enabled");
    problems.invalid(place, count, "only one queue sort plugin can be enabled");
  }
  for (const [at, profile] of profiles.entries()) {
    const own = setOf(profile);
    if (deepEqual(shown(own), shown(first))) continue;
    const place = root.index(at).child("plugins", "queueSort");
    problems.invalid(place, shown(own), "must be the same for all profiles");
  }
}

/** Prints a plugin set like kube-scheduler. */
function shown({ enabled, disabled }: PluginSetConfiguration): object {
  const entries = (plugins: PluginSetConfiguration["enabled"]) =>
    plugins?.map(({ name: Name = "", weight: Weight = 0 }) => ({ Name, Weight })) ?? null;
  return { Enabled: entries(enabled), Disabled: entries(disabled) };
}

function checkExtenders(extenders: readonly ExtenderConfiguration[], problems: Problems): void {
  const root = Path.of("extenders");
  const seen = new Set<string>();
  for (const [at, extender] of extenders.entries()) {
    const path = root.index(at);
    const weight = Number(extender.weight ?? 0);
    if (extender.prioritizeVerb && weight <= 0) {
      const detail = "must have a positive weight applied to it";
      problems.invalid(path.child("weight"), weight, detail);
    }
    for (const [index, { name = "" }] of (extender.managedResources ?? []).entries()) {
      const place = path.child("managedResources").index(index).child("name");
      const messages = isQualifiedName(name);
      for (const message of messages) problems.invalid(place, name, message);
      if (messages.length === 0 && !isExtendedName(name)) {
        problems.invalid(place, name, "is an invalid extended resource name");
      }
      if (seen.has(name)) problems.invalid(place, name, "duplicate extender managed resource name");
      seen.add(name);
    }
  }
  const binders = extenders.filter(({ bindVerb }) => !!bindVerb).length;
  if (binders <= 1) return;
  const found = `found ${binders} extenders implementing bind`;
  problems.invalid(root, found, "only one extender can implement bind");
}
