import { ConfigurationFault, type Domain, parseDuration, resolve } from "#meta";
import { DecodeFault, fromJson } from "#schema";
import type { NodeAffinity, TopologySpreadConstraint } from "#kinds";
import type { ResourceSpec, ScoringStrategy } from "../plugins/node-resources/allocation.ts";
import {
  type ArgsName,
  argsStructs,
  type GivenArgs,
  type ResourceSpecs,
} from "./plugin-args-structs.ts";
import { defaultPluginArgs, type PluginArgs } from "./profile.ts";
import type { ProfileConfiguration } from "./structs.ts";

/**
 * Decodes the arguments of a profile's built-in plugins; ignores others.
 * @throws ConfigurationFault with kube-scheduler's message
 */
export function givenArgs(
  { pluginConfig = [] }: ProfileConfiguration,
  profile: number,
  domain: Domain,
): GivenArgs {
  const given: Record<string, unknown> = {};
  for (const [at, { name = "", args }] of pluginConfig.entries()) {
    if (!isArgsName(name) || args === undefined || args === null) continue;
    const place = `decoding .profiles[${profile}].pluginConfig[${at}]:`;
    given[name] ??= decodedArgs(name, args, { domain, place });
  }
  return given;
}

export function isArgsName(name: string): name is ArgsName {
  return Object.hasOwn(argsStructs, name);
}

function decodedArgs(
  name: ArgsName,
  args: unknown,
  { domain, place }: { readonly domain: Domain; readonly place: string },
): unknown {
  const version = resolve("kubescheduler.config.{api}/v1", domain);
  const what = `decoding args for plugin ${name}:`;
  const { apiVersion = version, kind = `${name}Args` } = args as Record<string, unknown>;
  if (apiVersion !== version || kind !== `${name}Args`) {
    const told = `no kind "${String(kind)}" is registered for version "${String(apiVersion)}"`;
    throw new ConfigurationFault(`${place} ${what} ${told}`);
  }
  const unknown: string[] = [];
  try {
    const decoded = fromJson(argsStructs[name] as never, args, { root: true, unknown });
    if (unknown.length === 0) return decoded;
  } catch (error) {
    if (!(error instanceof DecodeFault)) throw error;
    throw new ConfigurationFault(`${place} ${what} ${error.message}`, { cause: error });
  }
  const strict = "strict decoding error:";
  const fields = unknown.map((path) => `unknown field "${path}"`).join(", ");
  throw new ConfigurationFault(`${strict} ${place} ${strict} ${what} ${strict} ${fields}`);
}

/** Arguments of all plugins, with defaults. */
export function pluginArgs(given: GivenArgs): PluginArgs {
  const defaults = defaultPluginArgs;
  const { NodeResourcesFit: fit, PodTopologySpread: spread, InterPodAffinity: affinity } = given;
  const { DefaultPreemption: preemption, VolumeBinding: volumes } = given;
  const { bindTimeoutSeconds } = volumes ?? {};
  const timeout = given.DynamicResources?.filterTimeout;
  return {
    ...defaults,
    addedAffinity: given.NodeAffinity?.addedAffinity as NodeAffinity | undefined,
    fit: {
      ignoredResources: fit?.ignoredResources ?? [],
      ignoredResourceGroups: fit?.ignoredResourceGroups ?? [],
      scoringStrategy: strategyOf(given, defaults.fit.scoringStrategy),
    },
    balancedResources:
      weighted(given.NodeResourcesBalancedAllocation?.resources) ?? defaults.balancedResources,
    spread: {
      defaultConstraints: (spread?.defaultConstraints ??
        []) as unknown as readonly TopologySpreadConstraint[],
      defaultingType: spread?.defaultingType === "List" ? "List" : "System",
    },
    affinity: {
      hardPodAffinityWeight: affinity?.hardPodAffinityWeight ?? 1,
      ignorePreferredTermsOfExistingPods: affinity?.ignorePreferredTermsOfExistingPods ?? false,
    },
    preemption: { ...defaults.preemption, ...preemption },
    volumeBinding:
      bindTimeoutSeconds === undefined
        ? defaults.volumeBinding
        : { bindTimeoutMs: Number(bindTimeoutSeconds) * 1000 },
    ...(timeout === undefined
      ? {}
      : {
          devices: { ...defaults.devices, filterTimeoutMs: Number(parseDuration(timeout)) / 1e6 },
        }),
  };
}

function strategyOf({ NodeResourcesFit: fit }: GivenArgs, usual: ScoringStrategy): ScoringStrategy {
  const { scoringStrategy: strategy } = fit ?? {};
  if (strategy === undefined) return usual;
  const points = strategy.requestedToCapacityRatio?.shape ?? [];
  return {
    type: strategy.type as ScoringStrategy["type"],
    resources: weighted(strategy.resources) ?? usual.resources,
    shape: points.map(({ utilization = 0, score = 0 }) => ({ utilization, score })),
  };
}

function weighted(resources: ResourceSpecs = []): readonly ResourceSpec[] | undefined {
  if (resources.length === 0) return undefined;
  return resources.map(({ name = "", weight }) => ({ name, weight: Number(weight || 1) }));
}
