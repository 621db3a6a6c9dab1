/** The discovery documents as values, in Go's field order; discovery.ts serves them. */
import { createHash } from "node:crypto";
import { type Catalog, type Resource, resolve } from "#meta";
import { type ServedGroup, servedGroups, type ServedVersion } from "./group-order.ts";

/**
 * An object on its way out: kind and apiVersion (absent in the oldest two documents) and its
 * fields.
 */
export interface Document {
  readonly kind: string;
  readonly apiVersion?: string;
  readonly [field: string]: unknown;
}

/** `/api`: the versions of the core group. */
export function apiVersions(catalog: Catalog): Document {
  const core = servedGroups(catalog).find((group) => group.name === "");
  return {
    kind: "APIVersions",
    versions: (core?.versions ?? []).map((served) => served.version),
    // Clients talk to the address that they already have; nothing is known that would be better.
    serverAddressByClientCIDRs: [{ clientCIDR: "0.0.0.0/0", serverAddress: "" }],
  };
}

/** `/apis`: every group but core. */
export function apiGroupList(catalog: Catalog): Document {
  const groups = servedGroups(catalog).filter((group) => group.name !== "");
  return { kind: "APIGroupList", apiVersion: "v1", groups: groups.map(groupEntry) };
}

/** `/apis/<group>`. */
export function apiGroup(group: ServedGroup): Document {
  return { kind: "APIGroup", apiVersion: "v1", ...groupEntry(group) };
}

function groupEntry(group: ServedGroup) {
  const versions = group.versions.map(({ groupVersion, version }) => ({ groupVersion, version }));
  return { name: group.name, versions, preferredVersion: versions[0] };
}

/** `/api/<version>` and `/apis/<group>/<version>`: resources and subresources, sorted by name. */
export function apiResourceList(served: ServedVersion, catalog: Catalog): Document {
  const resources = served.resources.flatMap((resource) => [
    resourceEntry(resource),
    ...subresources(resource, catalog).map(({ name, verbs, represents }) => ({
      name: `${resource.plural}/${name}`,
      singularName: "",
      namespaced: resource.kind.scope === "Namespaced",
      ...(represents.version === ""
        ? {}
        : { group: represents.group, version: represents.version }),
      kind: represents.kind,
      verbs,
    })),
  ]);
  const kind = "APIResourceList";
  const { groupVersion } = served;
  // The core group's list is older than the rule that documents name their own version.
  if (served.group === "") return { kind, groupVersion, resources };
  return { kind, apiVersion: "v1", groupVersion, resources };
}

function resourceEntry(resource: Resource) {
  const { kind } = resource;
  return {
    name: resource.plural,
    singularName: kind.singular,
    namespaced: kind.scope === "Namespaced",
    kind: kind.kind,
    verbs: [...kind.verbs].sort(),
    ...namesOf(resource),
    ...(isStored(resource) ? { storageVersionHash: storageVersionHash(resource) } : {}),
  };
}

function namesOf({ kind }: Resource) {
  return {
    ...(kind.shortNames.length > 0 ? { shortNames: kind.shortNames } : {}),
    ...(kind.categories.length > 0 ? { categories: kind.categories } : {}),
  };
}

/** Whatever is stored can be watched; reviews, bindings and component statuses cannot. */
function isStored(resource: Resource): boolean {
  return resource.kind.verbs.includes("watch");
}

/**
 * Tells clients whether two servers of one cluster store the same version: 8 bytes of SHA-256,
 * Base64.
 */
export function storageVersionHash({ hub, kind }: Resource): string {
  const digest = createHash("sha256").update(`${hub.group}/${hub.version}/${kind.kind}`).digest();
  return digest.subarray(0, 8).toString("base64");
}

interface SubresourceEntry {
  readonly name: string;
  readonly verbs: readonly string[];
  /** Group and version are empty when they are those of the parent. */
  readonly represents: { readonly group: string; readonly version: string; readonly kind: string };
}

function subresources(resource: Resource, catalog: Catalog): SubresourceEntry[] {
  return resource.kind.subresources
    .map(({ name, verbs, represents }) => {
      const kind = represents?.kind ?? resource.kind.kind;
      const group = resolve(represents?.group ?? resource.group, catalog.domain);
      const version = represents?.version ?? resource.version;
      const own = group === resource.group && version === resource.version;
      const shown = own ? { group: "", version: "", kind } : { group, version, kind };
      return { name, verbs: [...verbs].sort(), represents: shown };
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Aggregated discovery of `/api` (the core group alone) or `/apis` (all others). */
export function groupDiscoveryList(catalog: Catalog, core: boolean): Document {
  const groups = servedGroups(catalog).filter((group) => (group.name === "") === core);
  return {
    kind: "APIGroupDiscoveryList",
    apiVersion: `${discoveryGroup(catalog)}/v2`,
    metadata: {},
    items: groups.map((group) => ({
      metadata: group.name === "" ? {} : { name: group.name },
      versions: group.versions.map((served) => versionDiscovery(served, catalog)),
    })),
  };
}

export function discoveryGroup(catalog: Catalog): string {
  return resolve("apidiscovery.{api}", catalog.domain);
}

function versionDiscovery(served: ServedVersion, catalog: Catalog) {
  return {
    version: served.version,
    resources: served.resources.map((resource) => resourceDiscovery(resource, catalog)),
    freshness: "Current",
  };
}

function resourceDiscovery(resource: Resource, catalog: Catalog) {
  const { kind } = resource;
  const below = subresources(resource, catalog).map(({ name, verbs, represents }) => ({
    subresource: name,
    responseKind: represents,
    verbs,
  }));
  return {
    resource: resource.plural,
    responseKind: { group: "", version: "", kind: kind.kind },
    scope: kind.scope,
    singularResource: kind.singular,
    verbs: [...kind.verbs].sort(),
    ...namesOf(resource),
    ...(below.length > 0 ? { subresources: below } : {}),
  };
}
