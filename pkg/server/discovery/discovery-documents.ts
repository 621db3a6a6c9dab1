/** The discovery documents as values, in Go's field order; discovery.ts serves them. */
import { createHash } from "node:crypto";
import { assert, memoize } from "#base";
import { type Catalog, type Resource, resolve } from "#meta";
import {
  type DiscoveredGroup,
  discoveredGroups,
  type DiscoveredVersion,
  type DiscoveryView,
} from "./discovered-groups.ts";
import type { ServedVersion } from "./group-order.ts";

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
export function apiVersions(view: DiscoveryView): Document {
  const core = discoveredGroups(view).listed.find(({ name }) => name === "");
  return {
    kind: "APIVersions",
    versions: (core?.versions ?? []).map(({ version }) => version),
    // Clients talk to the address that they already have; nothing is known that would be better.
    serverAddressByClientCIDRs: [{ clientCIDR: "0.0.0.0/0", serverAddress: "" }],
  };
}

/** `/apis`: every group but core. */
export function apiGroupList(view: DiscoveryView): Document {
  const groups = discoveredGroups(view).listed.filter((group) => group.name !== "");
  return { kind: "APIGroupList", apiVersion: "v1", groups: groups.map(groupEntry) };
}

/** `/apis/<group>`. */
export function apiGroup(group: DiscoveredGroup): Document {
  return { kind: "APIGroup", apiVersion: "v1", ...groupEntry(group) };
}

function groupEntry(group: DiscoveredGroup) {
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

const resourceEntry = memoize((resource: Resource) => {
  const { kind } = resource;
  return {
    name: resource.plural,
    singularName: kind.singular,
    namespaced: kind.scope === "Namespaced",
    kind: kind.kind,
    verbs: verbsOf(resource),
    ...namesOf(resource),
    ...(isStored(resource) ? { storageVersionHash: storageVersionHash(resource) } : {}),
  };
});

/** Sorted, but for custom resources, whose verbs Kubernetes wrote down in an order of their own. */
function verbsOf({ kind }: Resource): readonly string[] {
  return kind.custom === undefined ? [...kind.verbs].sort() : kind.verbs;
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
export function storageVersionHash({ hub, stored, kind }: Resource): string {
  const version = kind.custom?.storageVersion ?? stored.version;
  const name = `${hub.group}/${version}/${kind.kind}`;
  const digest = createHash("sha256").update(name).digest();
  return digest.subarray(0, 8).toString("base64");
}

interface SubresourceEntry {
  readonly name: string;
  readonly verbs: readonly string[];
  /** Group and version are empty when they are those of the parent. */
  readonly represents: { readonly group: string; readonly version: string; readonly kind: string };
}

function subresources(resource: Resource, catalog: Catalog): SubresourceEntry[] {
  const { subresources: declared, custom } = resource.kind;
  const entries = declared.map(({ name, verbs, represents }) => {
    const kind = represents?.kind ?? resource.kind.kind;
    const group = resolve(represents?.group ?? resource.group, catalog.domain);
    const version = represents?.version ?? resource.version;
    const own = group === resource.group && version === resource.version;
    const shown = own ? { group: "", version: "", kind } : { group, version, kind };
    return { name, verbs: [...verbs].sort(), represents: shown };
  });
  return custom === undefined ? entries.sort((a, b) => (a.name < b.name ? -1 : 1)) : entries;
}

/** Versions of aggregated discovery that clients may ask for. */
export type AggregatedVersion = "v2" | "v2beta1";

/** Aggregated discovery of `/api` (the core group alone) or `/apis` (all others). */
export function groupDiscoveryList(
  view: DiscoveryView,
  core: boolean,
  version: AggregatedVersion,
): Document {
  const { catalog } = view;
  const items = groupsBelow(view, core).map(({ name, versions }) => ({
    ...groupHead(name),
    versions: versions.map((each) => printedVersion(each, catalog).value),
  }));
  return listOf(catalog, version, items);
}

function groupsBelow(view: DiscoveryView, core: boolean): readonly DiscoveredGroup[] {
  return discoveredGroups(view).aggregated.filter((group) => (group.name === "") === core);
}

function listOf(catalog: Catalog, version: AggregatedVersion, items: readonly unknown[]): Document {
  const apiVersion = `${discoveryGroup(catalog)}/${version}`;
  return { kind: "APIGroupDiscoveryList", apiVersion, metadata: {}, items };
}

function groupHead(name: string) {
  return { metadata: name === "" ? {} : { name } };
}

/**
 * Aggregated discovery as JSON text; a change of one group version encodes only that one again. The
 * versions of the document differ in nothing but its `apiVersion`.
 */
export function groupDiscoveryText(
  view: DiscoveryView,
  core: boolean,
  version: AggregatedVersion,
): string {
  const { catalog } = view;
  const { items: _items, ...rest } = listOf(catalog, version, []);
  const groups = groupsBelow(view, core).map(({ name, versions }) => {
    const texts = versions.map((each) => printedVersion(each, catalog).text);
    return `${openObject(groupHead(name))},"versions":[${texts.join(",")}]}`;
  });
  return `${openObject(rest)},"items":[${groups.join(",")}]}`;
}

/** JSON without the brace at the end. */
function openObject(value: object): string {
  return JSON.stringify(value).slice(0, -1);
}

interface Printed {
  readonly value: unknown;
  readonly text: string;
}

function printedVersion(discovered: DiscoveredVersion, catalog: Catalog): Printed {
  if ("remote" in discovered) return printed(discovered.remote);
  assert(discovered.served !== undefined, "aggregated discovery has versions that are served");
  return printedServed(discovered.served)(catalog);
}

const printed = memoize((value: object): Printed => ({ value, text: JSON.stringify(value) }));

const printedServed = memoize((served: ServedVersion) =>
  memoize((catalog: Catalog): Printed => printed(versionDiscovery(served, catalog))),
);

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
    verbs: verbsOf(resource),
    ...namesOf(resource),
    ...(below.length > 0 ? { subresources: below } : {}),
  };
}
