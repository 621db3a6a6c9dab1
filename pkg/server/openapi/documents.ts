/**
 * OpenAPI documents of a catalog. Each group version's part is built once, when somebody first
 * asks, and shared by every catalog that serves the same kinds in it.
 */
import { createHash } from "node:crypto";
import { memoize, yieldEvery } from "#base";
import {
  apiGroup,
  apiGroupList,
  apiResourceList,
  apiVersions,
  deleteOptions,
  status,
  watchEvent,
} from "#api";
import { type Domain, openApiName, type Resource } from "#meta";
import {
  type GroupVersionKind,
  openApiDefinitions,
  type OpenApiRoot,
  type StructType,
} from "#schema";
import { type ServedGroup, servedGroups, type ServedVersion } from "../discovery/group-order.ts";
import { memoizeContent, memoizeParts } from "../discovery/memoize-parts.ts";
import { type Dialect, type DocumentEntries, type Entry, openApi3, swagger } from "./dialects.ts";
import { capitalized, groupIdentifier, type Operation, patch, pathsOf } from "./operations.ts";
import { rootsOf } from "./roots.ts";
import { versionInfo, versionStruct } from "../version.ts";

/** One OpenAPI document, in pieces to be sent one after another. */
export interface OpenApiDocument {
  readonly json: readonly Uint8Array[];
  /** SHA-512 of `json`, upper-case hexadecimal: part of the document's address, and its tag. */
  readonly hash: string;
  /** gnostic's Document message; its parts are encoded when they are first wanted. */
  readonly protobuf: () => Promise<readonly Uint8Array[]>;
}

/** The paths and roots of one document, before a dialect prints them. */
interface Part {
  /** Instead of the usual one. */
  readonly title?: string;
  /** Some paths at a time. */
  readonly paths: readonly PathSource[];
  readonly roots: readonly OpenApiRoot[];
}

type PathSource = (dialect: Dialect) => readonly Entry[];

/** What is found at an address; built when it is first asked for. */
interface OpenApiEntry {
  readonly hash: () => Promise<string>;
  readonly document: () => Promise<OpenApiDocument>;
}

/** Addresses below `/openapi/v3/` and what is found there. */
export const openApiV3Documents = memoizeContent((catalog): ReadonlyMap<string, OpenApiEntry> => {
  const { domain } = catalog;
  const found = new Map<string, OpenApiEntry>();
  const add = (address: string, part: () => Part) =>
    found.set(address, entryOf(lazily(() => printed(openApi3, part()))));
  add("api", coreVersionsPart);
  add("apis", groupListPart);
  add("version", versionPart);
  for (const group of servedGroups(catalog)) {
    const base = group.name === "" ? "api" : `apis/${group.name}`;
    if (group.name !== "" && !isCustom(group)) add(base, () => groupPart(group, domain));
    for (const served of group.versions) {
      found.set(`${base}/${served.version}`, versionEntries(served)(domain));
    }
  }
  return found;
});

function isCustom({ versions }: ServedGroup): boolean {
  return versions.every(({ resources }) => resources.every(({ kind }) => kind.custom));
}

function entryOf(document: () => Promise<OpenApiDocument>): OpenApiEntry {
  return { hash: async () => (await document()).hash, document };
}

const versionEntries = memoize((served: ServedVersion) =>
  memoize((domain: Domain): OpenApiEntry => {
    const print = () => printed(openApi3, versionedPart(served, domain));
    const [first] = served.resources;
    if (first?.kind.custom === undefined) {
      return entryOf(() => versionDocuments(identityOf(domain, served.resources), print));
    }
    const hash = lazily(() => customHash(served));
    const document = sharedWhileUsed(async () => ({ ...(await print()), hash: hash() }));
    return { hash: async () => hash(), document };
  }),
);

/**
 * Documents of custom resources are many and change often: each is named by what it is made of, so
 * that the index need not make it, and none is kept, since clients keep it by that name.
 */
function customHash({ resources }: ServedVersion): string {
  const parts = resources.map(({ kind }) => kind.custom?.fingerprint ?? kind.kind);
  const made = JSON.stringify([versionInfo().gitVersion, ...parts]);
  return createHash("sha512").update(made).digest("hex").toUpperCase();
}

/** What is printed of resources depends on these values and on nothing else. */
function identityOf(domain: Domain, resources: readonly Resource[]): readonly object[] {
  return [domain, ...resources.flatMap(({ kind, served }) => [kind, served])];
}

const versionDocuments = memoizeParts<Promise<OpenApiDocument>>();
const resourcePaths = new Map<Dialect, KeptEntries>([[swagger, memoizeParts()]]);

type KeptEntries = ReturnType<typeof memoizeParts<readonly Entry[]>>;

/** The whole API in one Swagger 2.0 document; those who ask at the same time share the work. */
export const openApiV2Document = memoizeContent((catalog): Promise<OpenApiDocument> => {
  const { domain } = catalog;
  const groups = servedGroups(catalog);
  const served = groups.flatMap((group) => group.versions);
  const parts = [
    ...served.map((version) => versionedPart(version, domain)),
    coreVersionsPart(),
    groupListPart(),
    versionPart(),
    ...groups.filter(({ name }) => name !== "").map((group) => groupPart(group, domain)),
    // Last, so that these replace the parts' own, which know one group version each.
    { paths: [], roots: sharedRoots(served) },
  ];
  return printed(swagger, {
    paths: parts.flatMap(({ paths }) => paths),
    roots: parts.flatMap(({ roots }) => roots),
  });
});

/** A document is printed in slices: one may have thousands of kinds. */
async function printed(
  dialect: Dialect,
  { paths, roots, title = "Kubernetes" }: Part,
): Promise<OpenApiDocument> {
  const turn = yieldEvery();
  const named = new Map<string, Entry>();
  for (const source of paths) {
    for (const entry of source(dialect)) named.set(entry.name, entry);
    await turn();
  }
  const schemas: Entry[] = [];
  for (const [, { entry }] of openApiDefinitions(roots, openApiName, dialect.define)) {
    schemas.push(entry);
    await turn();
  }
  const info = { title, version: versionInfo().gitVersion };
  const entries = { info, paths: sorted([...named.values()]), schemas: sorted(schemas) };
  const json = dialect.json(entries);
  return { json, hash: await hashOf(json), protobuf: () => encodedInSlices(dialect, entries) };
}

function sorted(entries: readonly Entry[]): Entry[] {
  return [...entries].sort((a, b) => (a.name < b.name ? -1 : 1));
}

async function hashOf(pieces: readonly Uint8Array[]): Promise<string> {
  const turn = yieldEvery();
  const hash = createHash("sha512");
  for (const piece of pieces) {
    hash.update(piece);
    await turn();
  }
  return hash.digest("hex").toUpperCase();
}

async function encodedInSlices(
  dialect: Dialect,
  entries: DocumentEntries,
): Promise<readonly Uint8Array[]> {
  const turn = yieldEvery();
  for (const entry of [...entries.paths, ...entries.schemas]) {
    entry.encode();
    await turn();
  }
  return dialect.protobuf(entries);
}

const metaVersion = { group: "", version: "v1" } as const;

/** What is spoken in every group version under the same name. */
function sharedRoots(versions: readonly ServedVersion[]): OpenApiRoot[] {
  const kinds = (kind: string): GroupVersionKind[] => [
    { ...metaVersion, kind },
    ...versions
      .map(({ group, version }) => ({ group, version, kind }))
      .filter(({ group, version }) => `${group}/${version}` !== "/v1"),
  ];
  return [
    { struct: deleteOptions, kinds: kinds("DeleteOptions"), typeMeta: true },
    { struct: watchEvent, kinds: kinds("WatchEvent"), typeMeta: false },
    metaRoot(status, "Status"),
    metaRoot(apiResourceList, "APIResourceList"),
    { struct: patch, kinds: [], typeMeta: false },
  ];
}

function metaRoot(struct: StructType<any>, kind: string): OpenApiRoot {
  return { struct, kinds: [{ ...metaVersion, kind }], typeMeta: true };
}

function versionedPart(served: ServedVersion, domain: Domain): Part {
  const { group, version, groupVersion, resources } = served;
  const identifier = groupIdentifier(group, domain);
  const list = read({
    id: `get${capitalized(identifier)}${capitalized(version)}APIResources`,
    description: "What is served in this group and version.",
    tag: `${identifier}_${version}`,
    response: apiResourceList,
  });
  const base = group === "" ? "/api" : "/apis";
  const custom = resources.every(({ kind }) => kind.custom !== undefined);
  const root = single(`${base}/${groupVersion}/`, list);
  return {
    ...(custom ? { title: "Kubernetes CRD Swagger" } : {}),
    paths: [
      ...(custom ? [] : [root]),
      ...resources.map((resource) => pathsOfResource(resource, domain)),
    ],
    roots: [
      ...sharedRoots([served]),
      ...resources.flatMap((resource) => rootsOf(resource, domain)),
    ],
  };
}

/** What is asked for as a whole is kept by the resource, what is asked for by group is not. */
function pathsOfResource(resource: Resource, domain: Domain): PathSource {
  return (dialect) => {
    const print = () => pathsOf(resource, domain).map(dialect.path);
    const kept = resourcePaths.get(dialect);
    return kept === undefined ? print() : kept(identityOf(domain, [resource]), print);
  };
}

function single(path: string, operation: Operation): PathSource {
  return (dialect) => [dialect.path({ path, parameters: [], operations: [operation] })];
}

function read(
  rest: Pick<Operation, "id" | "description" | "tag" | "response" | "media">,
): Operation {
  return { method: "get", parameters: [], codes: [200], streams: false, ...rest };
}

function coreVersionsPart(): Part {
  const get = read({
    id: "getCoreAPIVersions",
    description: "The versions of the core group.",
    tag: "core",
    response: apiVersions,
  });
  return {
    paths: [single("/api/", get)],
    roots: [metaRoot(apiVersions, "APIVersions")],
  };
}

function groupListPart(): Part {
  const get = read({
    id: "getAPIVersions",
    description: "Every group that is served.",
    tag: "apis",
    response: apiGroupList,
  });
  return {
    paths: [single("/apis/", get)],
    roots: [metaRoot(apiGroupList, "APIGroupList")],
  };
}

function groupPart(group: ServedGroup, domain: Domain): Part {
  const identifier = groupIdentifier(group.name, domain);
  const get = read({
    id: `get${capitalized(identifier)}APIGroup`,
    description: "The versions of this group.",
    tag: identifier,
    response: apiGroup,
  });
  return {
    paths: [single(`/apis/${group.name}/`, get)],
    roots: [metaRoot(apiGroup, "APIGroup")],
  };
}

function versionPart(): Part {
  const get = read({
    id: "getCodeVersion",
    description: "The version of this server.",
    tag: "version",
    response: versionStruct,
    media: ["application/json"],
  });
  return {
    paths: [single("/version/", get)],
    roots: [{ struct: versionStruct, kinds: [], typeMeta: false }],
  };
}

/** Whoever asks while the value is being made, or while somebody still uses it, gets the same. */
function sharedWhileUsed<V extends object>(make: () => Promise<V>): () => Promise<V> {
  let making: Promise<V> | undefined;
  let made: WeakRef<V> | undefined;
  return async () => {
    const known = made?.deref();
    if (known !== undefined) return known;
    making ??= make().finally(() => (making = undefined));
    const value = await making;
    made = new WeakRef(value);
    return value;
  };
}

function lazily<V>(make: () => V): () => V {
  let made: { readonly value: V } | undefined;
  return () => (made ??= { value: make() }).value;
}
