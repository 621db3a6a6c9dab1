/** Discovery documents as values, with fields in the order of kube-apiserver's. */
import { createHash } from "node:crypto";
import { assert, memoize, printJson } from "#base";
import { type Catalog, type Resource, resolve } from "#meta";
import {
  type DiscoveredGroup,
  discoveredGroups,
  type DiscoveredVersion,
  type DiscoveryView,
} from "./discovered-groups.ts";
import type { ServedVersion } from "./group-order.ts";

/** A discovery document; the core group's documents have no `apiVersion`. */
export interface Document {
  readonly kind: string;
  readonly apiVersion?: string;
  readonly [field: string]: unknown;
}

/** The document at `/api`: versions of the core group. */
export function apiVersions(view: DiscoveryView): Document {
  const core = discoveredGroups(view).registered.find(({ name }) => name === "");
  return {
    kind: "APIVersions",
    versions: (core?.versions ?? []).map(({ version }) => version),
    // An empty address: clients use the address that they are connected to.
    serverAddressByClientCIDRs: [{ clientCIDR: "0.0.0.0/0", serverAddress: "" }],
  };
}

/** The document at `/apis`: all groups except core. */
export function apiGroupList(view: DiscoveryView): Document {
  const groups = discoveredGroups(view).registered.filter((group) => group.name !== "");
  return { kind: "APIGroupList", apiVersion: "v1", groups: groups.map(groupEntry) };
}

/** The document at `/apis/<group>`. */
export function apiGroup(group: DiscoveredGroup): Document {
  return { kind: "APIGroup", apiVersion: "v1", ...groupEntry(group) };
}

function groupEntry(group: DiscoveredGroup) {
  const versions = group.versions.map(({ groupVersion, version }) => ({ groupVersion, version }));
  return { name: group.name, versions, preferredVersion: versions[0] };
}

/** The document at `/api/v1` or `/apis/<group>/<version>`: resources and subresources by name. */
export function apiResourceList(served: ServedVersion, catalog: Catalog): Document {
  const resources = served.resources.flatMap((resource) => [
    publishedEntry(resource, catalog),
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
  // As in kube-apiserver, the core group's list has no apiVersion.
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
    storageVersionHash: isStored(resource) ? storageVersionHash(resource) : undefined,
  };
});

function publishedEntry(resource: Resource, { publishing }: Catalog) {
  const { storageVersionHash: hash, ...entry } = resourceEntry(resource);
  const isPublished = hash !== undefined && publishing.storageVersionHashes;
  return isPublished ? { ...entry, storageVersionHash: hash } : entry;
}

/** Sorted verbs; those of custom resources are in the fixed order of apiextensions-apiserver. */
function verbsOf({ kind }: Resource): readonly string[] {
  return kind.custom === undefined ? [...kind.verbs].sort() : kind.verbs;
}

function namesOf({ kind }: Resource) {
  return {
    ...(kind.shortNames.length > 0 ? { shortNames: kind.shortNames } : {}),
    ...(kind.categories.length > 0 ? { categories: kind.categories } : {}),
  };
}

/** Stored resources are those that can be watched: not reviews, bindings or component statuses. */
function isStored(resource: Resource): boolean {
  return resource.kind.verbs.includes("watch");
}

/** The storageVersionHash: Base64 of the first 8 bytes of the SHA-256 of `group/version/kind`. */
export function storageVersionHash({ hub, stored, kind }: Resource): string {
  const version = kind.custom?.storageVersion ?? stored.version;
  const name = `${hub.group}/${version}/${kind.kind}`;
  const digest = createHash("sha256").update(name).digest();
  return digest.subarray(0, 8).toString("base64");
}

interface SubresourceEntry {
  readonly name: string;
  readonly verbs: readonly string[];
  /** Kind of the subresource; group and version are empty if they are those of the parent. */
  readonly represents: { readonly group: string; readonly version: string; readonly kind: string };
}

function subresources(resource: Resource, catalog: Catalog): SubresourceEntry[] {
  const { subresources: declared, custom } = resource.kind;
  const entries = declared.map(({ name, verbs, represents }) => {
    const kind = represents?.kind ?? resource.kind.kind;
    const group = resolve(represents?.group ?? resource.group, catalog.domain);
    const version = represents?.version ?? resource.version;
    const isParents = group === resource.group && version === resource.version;
    const gvk = isParents ? { group: "", version: "", kind } : { group, version, kind };
    return { name, verbs: [...verbs].sort(), represents: gvk };
  });
  return custom === undefined ? entries.sort((a, b) => (a.name < b.name ? -1 : 1)) : entries;
}

/** Versions of the aggregated discovery document. */
export type AggregatedVersion = "v2" | "v2beta1";

/** Group and version of an aggregated discovery document: its `apiVersion`. */
export interface AggregatedType {
  /** That of the request: of the API domain, or `apidiscovery.k8s.io`, which clients have compiled in. */
  readonly group: string;
  readonly version: AggregatedVersion;
}

/** Aggregated discovery of `/api` (only the core group) or `/apis` (all others). */
export function groupDiscoveryList(
  view: DiscoveryView,
  core: boolean,
  type: AggregatedType,
): Document {
  const { catalog } = view;
  const items = aggregatedGroups(view, core).map(({ name, versions }) => ({
    ...groupMetadata(name),
    versions: versions.map((each) => encodedVersion(each, catalog).value),
  }));
  return listOf(type, items);
}

function aggregatedGroups(view: DiscoveryView, core: boolean): readonly DiscoveredGroup[] {
  return discoveredGroups(view).aggregated.filter((group) => (group.name === "") === core);
}

function listOf({ group, version }: AggregatedType, items: readonly unknown[]): Document {
  const apiVersion = `${group}/${version}`;
  return { kind: "APIGroupDiscoveryList", apiVersion, metadata: {}, items };
}

function groupMetadata(name: string) {
  return { metadata: name === "" ? {} : { name } };
}

/**
 * Aggregated discovery as JSON text. Each group version is encoded once until it changes. The versions
 * of the document differ only in its `apiVersion`.
 */
export function groupDiscoveryText(
  view: DiscoveryView,
  core: boolean,
  type: AggregatedType,
): string {
  const { catalog } = view;
  const { items: _items, ...rest } = listOf(type, []);
  const groups = aggregatedGroups(view, core).map(({ name, versions }) => {
    const texts = versions.map((each) => encodedVersion(each, catalog).text);
    return `${openObject(groupMetadata(name))},"versions":[${texts.join(",")}]}`;
  });
  return `${openObject(rest)},"items":[${groups.join(",")}]}`;
}

/** JSON of an object without its closing brace. */
function openObject(value: object): string {
  return printJson(value).slice(0, -1);
}

interface EncodedVersion {
  readonly value: unknown;
  readonly text: string;
}

function encodedVersion(discovered: DiscoveredVersion, catalog: Catalog): EncodedVersion {
  if ("remote" in discovered) return encoded(discovered.remote);
  assert(discovered.served !== undefined, "aggregated discovery lists only served versions");
  return encodedServed(discovered.served)(catalog);
}

const encoded = memoize((value: object): EncodedVersion => ({
  value,
  text: printJson(value),
}));

const encodedServed = memoize((served: ServedVersion) =>
  memoize((catalog: Catalog): EncodedVersion => encoded(versionDiscovery(served, catalog))),
);

export function discoveryGroup({ domain }: Pick<Catalog, "domain">): string {
  return resolve("apidiscovery.{api}", domain);
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
  const subresourceEntries = subresources(resource, catalog).map(({ name, verbs, represents }) => ({
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
    ...(subresourceEntries.length > 0 ? { subresources: subresourceEntries } : {}),
  };
}
