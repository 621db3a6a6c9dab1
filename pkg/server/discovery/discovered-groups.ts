/** The API groups of discovery: those of this server and those of aggregated servers. */
import {
  type DiscoverySnapshot,
  orderGroups,
  type RankedVersion,
  type VersionDiscovery,
} from "#aggregator";
import { apiServicePriorities } from "#api";
import { memoize } from "#base";
import { type Catalog, groupVersionOf, resolve } from "#meta";
import { servedGroups, type ServedVersion } from "./group-order.ts";
import { memoizeContent } from "./memoize-parts.ts";

export interface DiscoveryView {
  readonly catalog: Catalog;
  readonly registered: DiscoverySnapshot;
  /** Whether aggregated discovery is also served as v2beta1. */
  readonly servesBeta: boolean;
}

interface NamedVersion {
  readonly version: string;
  readonly groupVersion: string;
}

/** A group version with its resources in this server or an aggregated one, or with neither. */
export type DiscoveredVersion = NamedVersion &
  (
    | { readonly served: ServedVersion }
    | { readonly remote: VersionDiscovery }
    | { readonly served?: undefined }
  );

export interface DiscoveredGroup {
  /** "" is the core group. */
  readonly name: string;
  /** In order of preference, never empty. */
  readonly versions: readonly DiscoveredVersion[];
}

interface DiscoveredGroups {
  /** In the order of `/apis`, including versions of local APIServices that are not served. */
  readonly registered: readonly DiscoveredGroup[];
  /** In the order of aggregated discovery. */
  readonly aggregated: readonly DiscoveredGroup[];
}

/** Priorities that kube-apiserver registers custom resources with. */
const customRank = { groupPriorityMinimum: 1000, versionPriority: 100 };
/** Priorities of other versions without APIService. */
const defaultRank = { groupPriorityMinimum: 1000, versionPriority: 15 };
/** Priority of the APIService group: one more than the maximum of `groupPriorityMinimum`. */
const registrationPriority = 20_001;

export function discoveredGroups({ catalog, registered }: DiscoveryView): DiscoveredGroups {
  return groupsOf(catalog)(registered);
}

type Ranked = RankedVersion & { readonly discovered: DiscoveredVersion };

const groupsOf = memoizeContent((catalog) =>
  memoize((registered: DiscoverySnapshot): DiscoveredGroups => {
    const ranked = rankedVersions(catalog, registered);
    const ordered = (versions: readonly Ranked[], ties: "group" | "apiService") =>
      orderGroups(versions, ties).map((group) => ({
        name: group.name,
        versions: group.versions.map(({ discovered }) => discovered),
      }));
    const served = ranked.filter(({ discovered }) => isServed(discovered));
    return { registered: ordered(ranked, "apiService"), aggregated: ordered(served, "group") };
  }),
);

function isServed(version: DiscoveredVersion): boolean {
  return "remote" in version || version.served !== undefined;
}

/** All versions with their priorities. An APIService for another server overrides a local version. */
function rankedVersions(catalog: Catalog, { versions }: DiscoverySnapshot): readonly Ranked[] {
  const { domain } = catalog;
  const builtIn = apiServicePriorities(domain);
  const registration = resolve("apiregistration.{api}", domain);
  const ranked: Ranked[] = [];
  for (const served of servedGroups(catalog).flatMap((group) => group.versions)) {
    const { group, version, groupVersion, resources } = served;
    const apiService = versions.get(groupVersion);
    if (apiService?.remote !== undefined) continue;
    const isCustom = resources.every(({ kind }) => kind.custom !== undefined);
    const unregistered = isCustom ? customRank : defaultRank;
    const rank = apiService ?? builtIn.get(`${version}.${group}`) ?? unregistered;
    const { versionPriority } = rank;
    const groupPriorityMinimum =
      group === registration ? registrationPriority : rank.groupPriorityMinimum;
    const discovered = { version, groupVersion, served };
    ranked.push({ group, version, groupPriorityMinimum, versionPriority, discovered });
  }
  const served = new Set(ranked.map(({ discovered }) => discovered.groupVersion));
  for (const { remote, ...rank } of versions.values()) {
    const { group, version } = rank;
    const groupVersion = groupVersionOf(group, version);
    if (served.has(groupVersion)) continue;
    const discovered = { version, groupVersion };
    ranked.push({
      ...rank,
      discovered: remote === undefined ? discovered : { ...discovered, remote },
    });
  }
  return ranked;
}
