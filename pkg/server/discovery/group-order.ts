/** Groups and versions that this server serves itself; discovered-groups.ts has their order. */
import type { Resource } from "#meta";
import { compareVersions, groupVersionOf } from "#meta";
import { memoize } from "#base";
import { memoizeContent } from "./memoize-parts.ts";

export interface ServedVersion {
  readonly group: string;
  readonly version: string;
  readonly groupVersion: string;
  /** Sorted by plural name. */
  readonly resources: readonly Resource[];
}

export interface ServedGroup {
  /** "" is the core group. */
  readonly name: string;
  /** In order of preference, never empty. */
  readonly versions: readonly ServedVersion[];
}

/** The served groups with their versions and resources, by name; core first. */
export const servedGroups = memoizeContent((catalog): readonly ServedGroup[] =>
  [...catalog.groups].sort(compareText).map((name) => groupOf(catalog.inGroup(name))),
);

/** A group is put in order when something in it has changed, not when others have. */
const groupOf = memoize((resources: readonly Resource[]): ServedGroup => {
  const versions = new Map<string, Resource[]>();
  for (const resource of resources) {
    entry(versions, resource.version, (): Resource[] => []).push(resource);
  }
  const name = resources[0]?.group ?? "";
  return { name, versions: sortVersions(name, versions) };
});

function sortVersions(group: string, versions: Map<string, Resource[]>): ServedVersion[] {
  return [...versions]
    .map(([version, resources]) => ({
      group,
      version,
      groupVersion: groupVersionOf(group, version),
      resources: resources.sort((a, b) => compareText(a.plural, b.plural)),
    }))
    .sort((a, b) => compareVersions(a.version, b.version));
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function entry<V>(map: Map<string, V>, key: string, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) {
    value = make();
    map.set(key, value);
  }
  return value;
}
