/** The order in which discovery lists groups, and the versions of a group. */
import type { Catalog, Resource } from "#meta";
import { compareVersions, groupVersionOf, resolve } from "#meta";
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

/**
 * Clients that find a resource name in several groups take the first one, so the order is part of
 * the contract: these groups come in this order, all others (custom ones among them) after them
 * by name. The first and the last of a run of equal rank are ordered by name.
 */
const builtinGroupOrder: readonly (readonly string[])[] = [
  [""],
  ["apiregistration.{api}"],
  ["apps"],
  ["events.{api}"],
  ["authentication.{api}"],
  ["authorization.{api}"],
  ["autoscaling"],
  ["batch"],
  ["certificates.{api}"],
  ["networking.{api}"],
  ["policy"],
  ["rbac.authorization.{api}"],
  ["storage.{api}"],
  ["admissionregistration.{api}", "apiextensions.{api}"],
  ["scheduling.{api}"],
  ["coordination.{api}"],
  ["node.{api}"],
  ["discovery.{api}", "resource.{api}"],
  ["flowcontrol.apiserver.{api}"],
  ["internal.apiserver.{api}"],
  ["storagemigration.{api}"],
];

/** The served groups with their versions and resources, in the order of discovery; core first. */
export const servedGroups = memoizeContent((catalog): readonly ServedGroup[] => {
  const rank = groupRank(catalog);
  return [...catalog.groups]
    .map((name) => groupOf(catalog.inGroup(name)))
    .sort((a, b) => rank(a.name) - rank(b.name) || compareText(a.name, b.name));
});

/** Undefined for a group that is not served. */
export function servedGroup(catalog: Catalog, name: string): ServedGroup | undefined {
  const resources = catalog.inGroup(name);
  return resources.length === 0 ? undefined : groupOf(resources);
}

/** A group is put in order when something in it has changed, not when others have. */
const groupOf = memoize((resources: readonly Resource[]): ServedGroup => {
  const versions = new Map<string, Resource[]>();
  for (const resource of resources) {
    entry(versions, resource.version, (): Resource[] => []).push(resource);
  }
  const name = resources[0]?.group ?? "";
  return { name, versions: sortVersions(name, versions) };
});

function groupRank(catalog: Catalog): (group: string) => number {
  const ranks = new Map<string, number>();
  for (const [rank, templates] of builtinGroupOrder.entries()) {
    for (const template of templates) ranks.set(resolve(template, catalog.domain), rank);
  }
  return (group) => ranks.get(group) ?? builtinGroupOrder.length;
}

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
