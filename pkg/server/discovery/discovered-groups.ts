/** The groups of discovery documents: what this server serves, and what other servers do. */
import {
  type DiscoverySnapshot,
  orderGroups,
  type RankedVersion,
  type VersionDiscovery,
} from "#aggregator";
import { apiRanks } from "#api";
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

/** A group version, and who serves it: this server, another one, or none. */
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
  /** In the order of `/apis`, with versions that an APIService names and no server serves. */
  readonly listed: readonly DiscoveredGroup[];
  /** In the order of aggregated discovery. */
  readonly aggregated: readonly DiscoveredGroup[];
}

/** Priorities of custom resources, kube-apiserver's. */
const customRank = { groupPriorityMinimum: 1000, versionPriority: 100 };
/** Priorities of versions that have no APIService. */
const defaultRank = { groupPriorityMinimum: 1000, versionPriority: 15 };
/** Above the largest `groupPriorityMinimum`: APIServices come first. */
const registrationPriority = 20_001;

export function discoveredGroups({ catalog, registered }: DiscoveryView): DiscoveredGroups {
  return groupsOf(catalog)(registered);
}

type Ranked = RankedVersion & { readonly discovered: DiscoveredVersion };

const groupsOf = memoizeContent((catalog) =>
  memoize((registered: DiscoverySnapshot): DiscoveredGroups => {
    const all = rankedVersions(catalog, registered);
    const ordered = (versions: readonly Ranked[], ties: "group" | "apiService") =>
      orderGroups(versions, ties).map((group) => ({
        name: group.name,
        versions: group.versions.map(({ discovered }) => discovered),
      }));
    const answered = all.filter(({ discovered }) => isAnswered(discovered));
    return { listed: ordered(all, "apiService"), aggregated: ordered(answered, "group") };
  }),
);

function isAnswered(version: DiscoveredVersion): boolean {
  return "remote" in version || version.served !== undefined;
}

/** A version that an APIService assigns to another server is that server's. */
function rankedVersions(catalog: Catalog, { versions }: DiscoverySnapshot): readonly Ranked[] {
  const { domain } = catalog;
  const builtIn = apiRanks(domain);
  const registration = resolve("apiregistration.{api}", domain);
  const ranked: Ranked[] = [];
  for (const served of servedGroups(catalog).flatMap((group) => group.versions)) {
    const { group, version, groupVersion, resources } = served;
    const known = versions.get(groupVersion);
    if (known?.remote !== undefined) continue;
    const isCustom = resources.every(({ kind }) => kind.custom !== undefined);
    const unregistered = isCustom ? customRank : defaultRank;
    const rank = known ?? builtIn.get(`${version}.${group}`) ?? unregistered;
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
