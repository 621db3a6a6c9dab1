import {
  ConfigurationFault,
  decodeConfiguration,
  type Domain,
  parseDuration,
  parseYaml,
  problemText,
  resolve,
  YamlFault,
} from "#meta";
import { Path, Problems } from "#schema";
import { byExtensionPoint } from "../framework/extension-points.ts";
import { extenderOptions } from "../extenders/extender-options.ts";
import { checkConfiguration, durationOr } from "./check-configuration.ts";
import { checkFit } from "./check-plugin-args.ts";
import { defaultSchedulerSettings } from "./defaults.ts";
import { givenArgs, pluginArgs } from "./plugin-args.ts";
import type { GivenArgs } from "./plugin-args-structs.ts";
import { type PluginSet, resolvePlugins } from "./plugin-sets.ts";
import type { PluginArgs, Profile, SchedulerSettings } from "./profile.ts";
import {
  type Configuration,
  configurationStruct,
  type PluginSetConfiguration,
  type ProfileConfiguration,
} from "./structs.ts";

/** A KubeSchedulerConfiguration; omitted fields are absent. */
export interface SchedulerConfiguration {
  readonly settings: SchedulerSettings;
  readonly kubeconfig: string | undefined;
  readonly requestsPerSecond: number | undefined;
  readonly burst: number | undefined;
  readonly leaderElection: {
    readonly leaderElect?: boolean;
    readonly leaseDurationMs?: number;
    readonly renewDeadlineMs?: number;
    readonly retryPeriodMs?: number;
    readonly namespace?: string;
    readonly name?: string;
  };
}

/**
 * Strictly parses a KubeSchedulerConfiguration v1 (YAML or JSON).
 * @throws ConfigurationFault with kube-scheduler's message
 */
export function parseSchedulerConfiguration(text: string, domain: Domain): SchedulerConfiguration {
  checkKind(text, domain);
  const version = resolve("kubescheduler.config.{api}/v1", domain);
  const configuration = decodeConfiguration(text, configurationStruct, [version]);
  const { profiles = [], clientConnection: connection = {} } = configuration;
  const given = profiles.map((profile, at) => givenArgs(profile, at, domain));
  const problems = new Problems();
  const list = profiles.length === 0 ? {} : { profiles };
  checkConfiguration({ ...configuration, ...list }, given, problems, domain);
  refuse(problems);
  return {
    settings: settingsOf(configuration, given),
    kubeconfig: connection.kubeconfig || undefined,
    requestsPerSecond: connection.qps || undefined,
    burst: connection.burst || undefined,
    leaderElection: leaderElectionOf(configuration),
  };
}

function checkKind(text: string, domain: Domain): void {
  let value: unknown;
  try {
    ({ value } = parseYaml(text));
  } catch (error) {
    if (!(error instanceof YamlFault)) throw error;
    throw new ConfigurationFault(error.message, { cause: error });
  }
  const { apiVersion, kind } = (value ?? {}) as Readonly<Record<string, unknown>>;
  const version = resolve("kubescheduler.config.{api}/v1", domain);
  if (typeof apiVersion !== "string" || typeof kind !== "string") return;
  if (apiVersion === version && kind === configurationStruct.name) return;
  throw new ConfigurationFault(`no kind "${kind}" is registered for version "${apiVersion}"`);
}

/** @throws ConfigurationFault that lists all problems, in brackets if several */
function refuse({ list }: Problems): void {
  if (list.length === 0) return;
  const texts = list.map((problem) => {
    const told = problemText(problem);
    return problem.field === "" ? told : `${problem.field}: ${told}`;
  });
  throw new ConfigurationFault(texts.length === 1 ? texts[0] : `[${texts.join(", ")}]`);
}

function settingsOf(
  { profiles = [], extenders = [], ...configuration }: Configuration,
  given: readonly GivenArgs[],
): SchedulerSettings {
  const defaults = defaultSchedulerSettings;
  const { podInitialBackoffSeconds: first, podMaxBackoffSeconds: most } = configuration;
  const made = profiles.map((profile, at) => profileOf(profile, given[at]!));
  const ignored = extenders
    .flatMap(({ managedResources = [] }) => managedResources)
    .filter(({ ignoredByScheduler }) => ignoredByScheduler === true)
    .map(({ name = "" }) => name);
  const all = made.length === 0 ? defaults.profiles : made;
  return {
    profiles: ignored.length === 0 ? all : all.map((profile) => ignoring(profile, ignored)),
    extenders: extenderOptions(extenders),
    percentageOfNodesToScore: configuration.percentageOfNodesToScore ?? 0,
    podInitialBackoffMs: first === undefined ? defaults.podInitialBackoffMs : Number(first) * 1000,
    podMaxBackoffMs: most === undefined ? defaults.podMaxBackoffMs : Number(most) * 1000,
  };
}

/** The profile with NodeResourcesFit ignoring resources that extenders manage. */
function ignoring(profile: Profile, ignoredResources: readonly string[]): Profile {
  const { args } = profile;
  return { ...profile, args: { ...args, fit: { ...args.fit, ignoredResources } } };
}

/** @throws ConfigurationFault for errors that kube-scheduler reports when it creates the profile */
function profileOf(profile: ProfileConfiguration, given: GivenArgs): Profile {
  const { schedulerName = "default-scheduler", percentageOfNodesToScore, plugins } = profile;
  const entries = (each: PluginSetConfiguration["enabled"]) =>
    (each ?? []).map(({ name = "", weight = 0 }) => ({ name, weight }));
  const setOf = (set: PluginSetConfiguration | undefined): PluginSet => ({
    enabled: entries(set?.enabled),
    disabled: entries(set?.disabled).map(({ name }) => name),
  });
  const sets = byExtensionPoint((point) => setOf(plugins?.[point]));
  const what = `initializing profiles: creating profile for scheduler name ${schedulerName}:`;
  try {
    const resolved = resolvePlugins(
      { ...sets, multiPoint: setOf(plugins?.multiPoint) },
      schedulerName,
    );
    return {
      schedulerName,
      ...(percentageOfNodesToScore === undefined ? {} : { percentageOfNodesToScore }),
      plugins: resolved,
      args: argsOf(given),
    };
  } catch (error) {
    if (!(error instanceof ConfigurationFault)) throw error;
    throw new ConfigurationFault(`${what} ${error.message}`, { cause: error });
  }
}

function argsOf(given: GivenArgs): PluginArgs {
  const problems = new Problems();
  if (given.NodeResourcesFit !== undefined) checkFit(given.NodeResourcesFit, Path.root, problems);
  try {
    refuse(problems);
  } catch (error) {
    const { message } = error as ConfigurationFault;
    const text = `initializing plugin "NodeResourcesFit": ${message}`;
    throw new ConfigurationFault(text, { cause: error });
  }
  return pluginArgs(given);
}

function leaderElectionOf({
  leaderElection = {},
}: Configuration): SchedulerConfiguration["leaderElection"] {
  const { leaderElect, resourceName, resourceNamespace, ...times } = leaderElection;
  const milliseconds = (text: string | undefined) =>
    text === undefined ? 0 : Number(parseDuration(durationOr(text, "0s"))) / 1e6;
  const lease = milliseconds(times.leaseDuration);
  const renew = milliseconds(times.renewDeadline);
  const retry = milliseconds(times.retryPeriod);
  return {
    ...(leaderElect === undefined ? {} : { leaderElect }),
    ...(lease === 0 ? {} : { leaseDurationMs: lease }),
    ...(renew === 0 ? {} : { renewDeadlineMs: renew }),
    ...(retry === 0 ? {} : { retryPeriodMs: retry }),
    ...(resourceNamespace ? { namespace: resourceNamespace } : {}),
    ...(resourceName ? { name: resourceName } : {}),
  };
}
