import {
  ConfigurationFault,
  type Domain,
  parseDuration,
  parseYaml,
  resolve,
  YamlFault,
} from "#meta";
import { byExtensionPoint, extensionPoints } from "../framework/extension-points.ts";
import { type PluginSet, resolvePlugins } from "./plugin-sets.ts";
import { defaultSchedulerSettings } from "./defaults.ts";
import { pluginArgsOf } from "./plugin-args.ts";
import { fieldsOf, type Fields, itemsOf, numberOf, textOf } from "./fields.ts";
import type { Profile, SchedulerSettings } from "./profile.ts";

/** A KubeSchedulerConfiguration. What it leaves out is absent. */
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
 * Parses a KubeSchedulerConfiguration of v1. Plugins are enabled and disabled at `multiPoint`,
 * weights of scores set there and at `score`.
 * @throws ConfigurationFault
 */
export function parseSchedulerConfiguration(text: string, domain: Domain): SchedulerConfiguration {
  const root = fieldsOf(valueOf(text), "", [
    "apiVersion",
    "kind",
    "parallelism",
    "leaderElection",
    "clientConnection",
    "profiles",
    "percentageOfNodesToScore",
    "podInitialBackoffSeconds",
    "podMaxBackoffSeconds",
    "enableProfiling",
    "enableContentionProfiling",
    "delayCacheUntilActive",
  ]);
  const version = resolve("kubescheduler.config.{api}/v1", domain);
  if (root["apiVersion"] !== version || root["kind"] !== "KubeSchedulerConfiguration") {
    throw new ConfigurationFault(`expected apiVersion ${version}, kind KubeSchedulerConfiguration`);
  }
  const connection = fieldsOf(root["clientConnection"], "clientConnection", [
    "kubeconfig",
    "acceptContentTypes",
    "contentType",
    "qps",
    "burst",
  ]);
  return {
    settings: settingsOf(root),
    kubeconfig: textOf(connection["kubeconfig"], "clientConnection.kubeconfig"),
    requestsPerSecond: numberOf(connection["qps"], "clientConnection.qps", 1),
    burst: numberOf(connection["burst"], "clientConnection.burst", 1),
    leaderElection: leaderElectionOf(root["leaderElection"]),
  };
}

function settingsOf(root: Fields): SchedulerSettings {
  const defaults = defaultSchedulerSettings;
  const profiles = itemsOf(root["profiles"], "profiles").map(profileOf);
  const names = profiles.map(({ schedulerName }) => schedulerName);
  if (new Set(names).size < names.length) {
    throw new ConfigurationFault("profiles: schedulerName must be unique");
  }
  const percentage = "percentageOfNodesToScore";
  const seconds = (field: string) => numberOf(root[field], field, 1);
  const initial = seconds("podInitialBackoffSeconds");
  const max = seconds("podMaxBackoffSeconds");
  const settings = {
    profiles: profiles.length === 0 ? defaults.profiles : profiles,
    percentageOfNodesToScore: numberOf(root[percentage], percentage, 0, 100) ?? 0,
    podInitialBackoffMs: initial === undefined ? defaults.podInitialBackoffMs : initial * 1000,
    podMaxBackoffMs: max === undefined ? defaults.podMaxBackoffMs : max * 1000,
  };
  if (settings.podMaxBackoffMs < settings.podInitialBackoffMs) {
    throw new ConfigurationFault("podMaxBackoffSeconds: less than podInitialBackoffSeconds");
  }
  return settings;
}

function profileOf(value: unknown, at: number): Profile {
  const path = `profiles[${at}]`;
  const known = ["schedulerName", "percentageOfNodesToScore", "plugins", "pluginConfig"];
  const fields = fieldsOf(value, path, known);
  const percentagePath = `${path}.percentageOfNodesToScore`;
  const percentage = numberOf(fields["percentageOfNodesToScore"], percentagePath, 0, 100);
  const schedulerName =
    textOf(fields["schedulerName"], `${path}.schedulerName`) ?? "default-scheduler";
  return {
    schedulerName,
    ...(percentage === undefined ? {} : { percentageOfNodesToScore: percentage }),
    plugins: pluginsOf(fields["plugins"], `${path}.plugins`, schedulerName),
    args: pluginArgsOf(fields["pluginConfig"], `${path}.pluginConfig`),
  };
}

function pluginsOf(value: unknown, path: string, name: string): Profile["plugins"] {
  const fields = fieldsOf(value, path, ["multiPoint", ...extensionPoints]);
  const setOf = (point: string): PluginSet => {
    const at = `${path}.${point}`;
    const { enabled, disabled } = fieldsOf(fields[point], at, ["enabled", "disabled"]);
    return {
      enabled: itemsOf(enabled, `${at}.enabled`).map((each) => ({
        name: pluginNameOf(each, `${at}.enabled`),
        weight:
          numberOf(
            fieldsOf(each, `${at}.enabled`, ["name", "weight"])["weight"],
            `${at}.enabled.weight`,
            0,
          ) ?? 0,
      })),
      disabled: itemsOf(disabled, `${at}.disabled`).map((each) =>
        pluginNameOf(each, `${at}.disabled`),
      ),
    };
  };
  return resolvePlugins({ ...byExtensionPoint(setOf), multiPoint: setOf("multiPoint") }, name);
}

function pluginNameOf(value: unknown, path: string): string {
  const { name } = fieldsOf(value, path, ["name", "weight"]);
  return textOf(name, `${path}.name`) ?? "";
}

function leaderElectionOf(value: unknown): SchedulerConfiguration["leaderElection"] {
  const path = "leaderElection";
  const fields = fieldsOf(value, path, [
    "leaderElect",
    "leaseDuration",
    "renewDeadline",
    "retryPeriod",
    "resourceLock",
    "resourceName",
    "resourceNamespace",
  ]);
  const result: Record<string, unknown> = {};
  if (typeof fields["leaderElect"] === "boolean") result["leaderElect"] = fields["leaderElect"];
  for (const field of ["leaseDuration", "renewDeadline", "retryPeriod"]) {
    const text = textOf(fields[field], `${path}.${field}`);
    if (text === undefined) continue;
    result[`${field}Ms`] = millisecondsOf(text, `${path}.${field}`);
  }
  const namespace = textOf(fields["resourceNamespace"], `${path}.resourceNamespace`);
  const name = textOf(fields["resourceName"], `${path}.resourceName`);
  if (namespace !== undefined) result["namespace"] = namespace;
  if (name !== undefined) result["name"] = name;
  return result;
}

function millisecondsOf(text: string, path: string): number {
  try {
    return Number(parseDuration(text)) / 1e6;
  } catch (error) {
    throw new ConfigurationFault(`${path}: ${(error as Error).message}`);
  }
}

function valueOf(text: string): unknown {
  try {
    return parseYaml(text).value;
  } catch (error) {
    if (error instanceof YamlFault) throw new ConfigurationFault(error.message);
    throw error;
  }
}
