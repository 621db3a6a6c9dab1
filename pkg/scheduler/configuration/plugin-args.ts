import type { NodeAffinity, TopologySpreadConstraint } from "#kinds";
import { ConfigurationFault, parseDuration } from "#meta";
import type { ResourceSpec, ScoringStrategy } from "../plugins/node-resources/allocation.ts";
import { fieldsOf, type Fields, itemsOf, numberOf, textOf } from "./fields.ts";
import { defaultPluginArgs, type PluginArgs } from "./profile.ts";

type Parser = (fields: Fields, path: string, args: PluginArgs) => Partial<PluginArgs>;

const typeMeta = ["apiVersion", "kind"];

const parsers: Readonly<Record<string, readonly [readonly string[], Parser]>> = {
  NodeAffinity: [
    ["addedAffinity"],
    ({ addedAffinity }) => ({ addedAffinity: (addedAffinity ?? undefined) as NodeAffinity }),
  ],
  NodeResourcesFit: [
    ["ignoredResources", "ignoredResourceGroups", "scoringStrategy"],
    (fields, path, { fit }) => ({
      fit: {
        ignoredResources: textsOf(fields["ignoredResources"], `${path}.ignoredResources`),
        ignoredResourceGroups: textsOf(
          fields["ignoredResourceGroups"],
          `${path}.ignoredResourceGroups`,
        ),
        scoringStrategy: strategyOf(
          fields["scoringStrategy"],
          `${path}.scoringStrategy`,
          fit.scoringStrategy,
        ),
      },
    }),
  ],
  NodeResourcesBalancedAllocation: [
    ["resources"],
    ({ resources }, path, { balancedResources }) => ({
      balancedResources: resourcesOf(resources, `${path}.resources`) ?? balancedResources,
    }),
  ],
  PodTopologySpread: [
    ["defaultConstraints", "defaultingType"],
    ({ defaultConstraints, defaultingType }, path) => ({
      spread: {
        defaultConstraints: itemsOf(
          defaultConstraints,
          `${path}.defaultConstraints`,
        ) as readonly TopologySpreadConstraint[],
        defaultingType:
          textOf(defaultingType, `${path}.defaultingType`) === "List" ? "List" : "System",
      },
    }),
  ],
  InterPodAffinity: [
    ["hardPodAffinityWeight", "ignorePreferredTermsOfExistingPods"],
    (fields, path, { affinity }) => ({
      affinity: {
        hardPodAffinityWeight:
          numberOf(fields["hardPodAffinityWeight"], `${path}.hardPodAffinityWeight`, 0, 100) ??
          affinity.hardPodAffinityWeight,
        ignorePreferredTermsOfExistingPods: fields["ignorePreferredTermsOfExistingPods"] === true,
      },
    }),
  ],
  DynamicResources: [
    ["filterTimeout"],
    ({ filterTimeout }, path, { devices }) => ({
      devices: {
        filterTimeoutMs:
          durationOf(filterTimeout, `${path}.filterTimeout`) ?? devices.filterTimeoutMs,
      },
    }),
  ],
  DefaultPreemption: [
    ["minCandidateNodesPercentage", "minCandidateNodesAbsolute"],
    (fields, path, { preemption }) => ({
      preemption: {
        minCandidateNodesPercentage:
          numberOf(fields["minCandidateNodesPercentage"], `${path}.percentage`, 0, 100) ??
          preemption.minCandidateNodesPercentage,
        minCandidateNodesAbsolute:
          numberOf(fields["minCandidateNodesAbsolute"], `${path}.absolute`, 0) ??
          preemption.minCandidateNodesAbsolute,
      },
    }),
  ],
};

function durationOf(value: unknown, path: string): number | undefined {
  const text = textOf(value, path);
  if (text === undefined) return undefined;
  try {
    const ms = Number(parseDuration(text)) / 1e6;
    if (ms >= 0) return ms;
  } catch (error) {
    throw new ConfigurationFault(`${path}: ${(error as Error).message}`);
  }
  throw new ConfigurationFault(`${path}: must not be negative`);
}

/**
 * Arguments of plugins out of the `pluginConfig` of a profile.
 * @throws ConfigurationFault
 */
export function pluginArgsOf(value: unknown, path: string): PluginArgs {
  let args = defaultPluginArgs;
  for (const [at, item] of itemsOf(value, path).entries()) {
    const own = `${path}[${at}]`;
    const fields = fieldsOf(item, own, ["name", "args"]);
    const name = textOf(fields["name"], `${own}.name`) ?? "";
    const parser = Object.hasOwn(parsers, name) ? parsers[name] : undefined;
    if (parser === undefined) throw new ConfigurationFault(`${own}: ${name} takes no arguments`);
    const [known, parse] = parser;
    const given = fieldsOf(fields["args"], `${own}.args`, [...typeMeta, ...known]);
    args = { ...args, ...parse(given, `${own}.args`, args) };
  }
  return args;
}

function textsOf(value: unknown, path: string): readonly string[] {
  return itemsOf(value, path).map((each) => textOf(each, path) ?? "");
}

function resourcesOf(value: unknown, path: string): readonly ResourceSpec[] | undefined {
  const items = itemsOf(value, path);
  if (items.length === 0) return undefined;
  return items.map((each) => {
    const { name, weight } = fieldsOf(each, path, ["name", "weight"]);
    return {
      name: textOf(name, `${path}.name`) ?? "",
      weight: numberOf(weight, `${path}.weight`, 0, 100) || 1,
    };
  });
}

const strategies = ["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"] as const;

function strategyOf(value: unknown, path: string, usual: ScoringStrategy): ScoringStrategy {
  const known = ["type", "resources", "requestedToCapacityRatio"];
  const fields = fieldsOf(value, path, known);
  const text = textOf(fields["type"], `${path}.type`) ?? usual.type;
  const type = strategies.find((each) => each === text);
  if (type === undefined) throw new ConfigurationFault(`${path}.type: no strategy ${text}`);
  const at = `${path}.requestedToCapacityRatio`;
  const { shape } = fieldsOf(fields["requestedToCapacityRatio"], at, ["shape"]);
  const points = itemsOf(shape, `${at}.shape`).map((each) => {
    const point = fieldsOf(each, `${at}.shape`, ["utilization", "score"]);
    return {
      utilization: numberOf(point["utilization"], `${at}.utilization`, 0, 100) ?? 0,
      score: numberOf(point["score"], `${at}.score`, 0, 10) ?? 0,
    };
  });
  if (type === "RequestedToCapacityRatio" && points.length === 0) {
    throw new ConfigurationFault(`${at}.shape: must have points`);
  }
  const isAscending = points.every(
    ({ utilization }, index) => index === 0 || utilization > points[index - 1]!.utilization,
  );
  if (!isAscending) throw new ConfigurationFault(`${at}.shape: utilization must ascend`);
  const resources = resourcesOf(fields["resources"], `${path}.resources`) ?? usual.resources;
  return { type, resources, shape: points };
}
