import { compareVersions } from "#meta";

/** A group version with the priorities from its APIService; larger ones come first. */
export interface RankedVersion {
  readonly group: string;
  readonly version: string;
  readonly groupPriorityMinimum: number;
  readonly versionPriority: number;
}

export interface OrderedGroup<V> {
  readonly name: string;
  /** In order of preference, never empty. */
  readonly versions: readonly V[];
}

/**
 * Sorts groups as kube-aggregator does: by descending maximum of `groupPriorityMinimum` over their
 * versions. Ties are broken by group name in aggregated discovery, and in `/apis` by the name of the
 * first APIService (`VERSION.GROUP`). Versions are sorted by `versionPriority`, then by stability and
 * number.
 */
export function orderGroups<V extends RankedVersion>(
  all: Iterable<V>,
  ties: "group" | "apiService",
): readonly OrderedGroup<V>[] {
  const groups = new Map<string, V[]>();
  for (const each of all) {
    const known = groups.get(each.group);
    if (known === undefined) groups.set(each.group, [each]);
    else known.push(each);
  }
  const ranked = [...groups].map(([name, versions]) => {
    const priority = Math.max(...versions.map(({ groupPriorityMinimum }) => groupPriorityMinimum));
    const tie = ties === "group" ? name : firstApiService(versions, priority);
    return { name, priority, tie, versions: versions.sort(compareRanked) };
  });
  ranked.sort((a, b) => b.priority - a.priority || compareText(a.tie, b.tie));
  return ranked.map(({ name, versions }) => ({ name, versions }));
}

/** The first, by name, of the APIServices with the group's highest `groupPriorityMinimum`. */
function firstApiService(versions: readonly RankedVersion[], priority: number): string {
  const named = versions.filter(({ groupPriorityMinimum }) => groupPriorityMinimum === priority);
  return named.map(({ group, version }) => `${version}.${group}`).sort(compareText)[0] ?? "";
}

function compareRanked(a: RankedVersion, b: RankedVersion): number {
  return b.versionPriority - a.versionPriority || compareVersions(a.version, b.version);
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
