import { ConfigurationFault } from "#meta";
import {
  type ByExtensionPoint,
  byExtensionPoint,
  type ExtensionPoint,
  extensionPoints,
  type ResolvedPlugins,
  titleOf,
} from "../framework/extension-points.ts";
import { pluginRegistry } from "../plugins/registry.ts";

export interface PluginEntry {
  readonly name: string;
  /** Weight of the scores; 0 = unset. */
  readonly weight: number;
}

/** Plugins that a profile enables and disables at an extension point; `*` disables all. */
export interface PluginSet {
  readonly enabled: readonly PluginEntry[];
  readonly disabled: readonly string[];
}

/** `multiPoint` enables plugins at all extension points that they implement. */
export type PluginSets = ByExtensionPoint<PluginSet> & { readonly multiPoint: PluginSet };

const emptySet: PluginSet = { enabled: [], disabled: [] };
export const noPluginSets: PluginSets = {
  ...byExtensionPoint(() => emptySet),
  multiPoint: emptySet,
};

/** Maximum sum of weights, so that weighted scores of up to 100 fit into an int64. */
const maxTotalWeight = (2n ** 63n - 1n) / 100n;

/**
 * Merges the plugins of a profile into the defaults and expands `multiPoint`. Order at an extension point:
 * plugins enabled both there and by `multiPoint`, then by `multiPoint` only, then by the point only.
 * @throws ConfigurationFault with kube-scheduler's message
 */
export function resolvePlugins(custom: PluginSets, profile: string): ResolvedPlugins {
  const multiPoint = mergedMultiPoint(custom.multiPoint);
  for (const point of extensionPoints) checkSet(point, custom[point].enabled);
  const points = byExtensionPoint((point) => expanded(point, custom[point], multiPoint));
  const { length } = points.queueSort;
  const quoted = JSON.stringify(profile);
  if (length !== 1) {
    throw new ConfigurationFault(
      `only one queue sort plugin required for profile with scheduler name ${quoted}, but got ${length}`,
    );
  }
  if (points.bind.length === 0) {
    throw new ConfigurationFault(
      `at least one bind plugin is needed for profile with scheduler name ${quoted}`,
    );
  }
  return { points, weights: weightsOf([...custom.score.enabled, ...multiPoint]) };
}

/** Default plugins without disabled ones; entries with the same name replace them in place. */
function mergedMultiPoint({ enabled, disabled }: PluginSet): readonly PluginEntry[] {
  const replacing = new Map(enabled.map((entry) => [entry.name, entry]));
  const replaced = new Set<PluginEntry>();
  const merged: PluginEntry[] = [];
  for (const [name, { weight }] of disabled.includes("*") ? [] : pluginRegistry) {
    if (disabled.includes(name)) continue;
    const entry = replacing.get(name);
    if (entry !== undefined) replaced.add(entry);
    merged.push(entry ?? { name, weight });
  }
  return [...merged, ...enabled.filter((entry) => !replaced.has(entry))];
}

function checkSet(point: ExtensionPoint, enabled: readonly PluginEntry[]): void {
  const type = typeOf(point);
  const seen = new Set<string>();
  for (const { name } of enabled) {
    const quoted = JSON.stringify(name);
    if (!existing(point, name).includes(point)) {
      throw new ConfigurationFault(`plugin ${quoted} does not extend ${type} plugin`);
    }
    if (seen.has(name)) {
      throw new ConfigurationFault(`plugin ${quoted} already registered as "${type}"`);
    }
    seen.add(name);
  }
}

function expanded(
  point: ExtensionPoint,
  { enabled, disabled }: PluginSet,
  multiPoint: readonly PluginEntry[],
): readonly string[] {
  const own = enabled.map(({ name }) => name);
  if (disabled.includes("*")) return own;
  const added: string[] = [];
  for (const { name } of multiPoint) {
    if (!existing(point, name).includes(point) || disabled.includes(name)) continue;
    if (own.includes(name)) continue;
    if (added.includes(name)) {
      const type = typeOf(point);
      throw new ConfigurationFault(
        `plugin ${JSON.stringify(name)} already registered as "${type}"`,
      );
    }
    added.push(name);
  }
  const isOverride = (name: string) => multiPoint.some((each) => each.name === name);
  return [
    ...own.filter((name) => isOverride(name)),
    ...added,
    ...own.filter((name) => !isOverride(name)),
  ];
}

/** Weights of the score plugins; the first entry of a plugin counts. */
function weightsOf(entries: readonly PluginEntry[]): ReadonlyMap<string, number> {
  const weights = new Map<string, number>();
  let total = 0n;
  for (const { name, weight } of entries) {
    if (weights.has(name) || !pluginRegistry.get(name)?.points.includes("score")) continue;
    weights.set(name, weight || 1);
    total += BigInt(weight || 1);
    if (total <= maxTotalWeight) continue;
    throw new ConfigurationFault("total score of Score plugins could overflow");
  }
  return weights;
}

function existing(point: ExtensionPoint, name: string): readonly ExtensionPoint[] {
  const found = pluginRegistry.get(name);
  if (found !== undefined) return found.points;
  throw new ConfigurationFault(`${typeOf(point)} ${JSON.stringify(name)} does not exist`);
}

function typeOf(point: ExtensionPoint): string {
  return `${titleOf(point)}Plugin`;
}
