/** The groups and versions that this server serves itself, by name; `/apis` orders them by priority. */
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
  /** By version priority (GA, beta, alpha), never empty. */
  readonly versions: readonly ServedVersion[];
}

/** The served groups with their versions and resources, by name; core first. */
export const servedGroups = memoizeContent((catalog): readonly ServedGroup[] =>
  [...catalog.groups].sort(compareText).map((name) => groupOf(catalog.inGroup(name))),
);

/** A served group; memoized, since most changes of the catalog affect a single group. */
const groupOf = memoize((resources: readonly Resource[]): ServedGroup => {
  const versions = new Map<string, Resource[]>();
  for (const resource of resources) {
    const { version } = resource;
    versions.set(version, [...(versions.get(version) ?? []), resource]);
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
