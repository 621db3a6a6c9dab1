/**
 * OpenAPI documents of a catalog. The part of a group version is built on its first request and
 * shared by all catalogs that serve the same kinds in it.
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
import { capitalized, groupIdentifier, type Operation, patch } from "./operation.ts";
import { pathsOf } from "./operations.ts";
import { objectMedia } from "./printing.ts";
import { publishedVersions } from "./published-versions.ts";
import { rootsOf } from "./roots.ts";
import { versionInfo, versionStruct } from "../version.ts";

/** One OpenAPI document, in chunks. */
export interface OpenApiDocument {
  readonly json: readonly Uint8Array[];
  /** SHA-512 of `json`, upper-case hexadecimal: part of the document's address, and its tag. */
  readonly hash: string;
  /**
   * gnostic's Document message; its parts are encoded on the first call. Absent = the document has
   * no such form.
   */
  readonly protobuf?: () => Promise<readonly Uint8Array[]>;
}

/** Paths and root structs of one document, from which a dialect prints it. */
interface Part {
  /** Defaults to `Kubernetes`. */
  readonly title?: string;
  /** Sources of the paths; printing yields to other requests between them. */
  readonly paths: readonly PathSource[];
  readonly roots: readonly OpenApiRoot[];
}

type PathSource = (dialect: Dialect) => readonly Entry[];

/** A document at one address, built on its first request. */
interface OpenApiEntry {
  readonly hash: () => Promise<string>;
  readonly document: () => Promise<OpenApiDocument>;
}

/** Documents by their address below `/openapi/v3/`. */
export const openApiV3Documents = memoizeContent((catalog): ReadonlyMap<string, OpenApiEntry> => {
  const { domain } = catalog;
  const found = new Map<string, OpenApiEntry>();
  const add = (address: string, part: () => Part) =>
    found.set(address, entryOf(lazily(() => printed(openApi3, part()))));
  add("api", coreVersionsPart);
  add("apis", groupListPart);
  add("version", versionPart);
  for (const [address, part] of openIdParts) add(address, part);
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
 * Hash of a document of custom resources. These are many and change often, so the hash is of their
 * definitions: the index need not build the documents, and they are not cached here, since clients
 * cache them under the hash.
 */
function customHash({ resources }: ServedVersion): string {
  const parts = resources.map(({ kind }) => kind.custom?.fingerprint ?? kind.kind);
  const made = JSON.stringify([versionInfo().gitVersion, ...parts]);
  return createHash("sha512").update(made).digest("hex").toUpperCase();
}

/** The identities that the printed paths and schemas of resources depend on. */
function identityOf(domain: Domain, resources: readonly Resource[]): readonly object[] {
  return [domain, ...resources.flatMap(({ kind, served }) => [kind, served])];
}

const versionDocuments = memoizeParts<Promise<OpenApiDocument>>();
const resourcePaths = new Map<Dialect, KeptEntries>([[swagger, memoizeParts()]]);

type KeptEntries = ReturnType<typeof memoizeParts<readonly Entry[]>>;

/** The whole API in one Swagger 2.0 document. Concurrent requests share the work. */
export const openApiV2Document = memoizeContent(async (catalog): Promise<OpenApiDocument> =>
  printedDocument(swagger, await openApiV2Entries(catalog)),
);

/** The parts of that document. */
export const openApiV2Entries = memoizeContent((catalog): Promise<DocumentEntries> => {
  const { domain } = catalog;
  const groups = servedGroups(catalog);
  const served = groups.flatMap((group) => group.versions);
  const parts = [
    ...served.map((version) => versionedPart(version, domain)),
    coreVersionsPart(),
    groupListPart(),
    versionPart(),
    ...[...openIdParts.values()].map((part) => part()),
    ...groups.filter(({ name }) => name !== "").map((group) => groupPart(group, domain)),
    // Last, so that these replace the parts' own, which know one group version each.
    { paths: [], roots: sharedRoots(served, domain) },
  ];
  return entriesOf(swagger, {
    paths: parts.flatMap(({ paths }) => paths),
    roots: parts.flatMap(({ roots }) => roots),
  });
});

async function printed(dialect: Dialect, part: Part): Promise<OpenApiDocument> {
  return printedDocument(dialect, await entriesOf(dialect, part));
}

/** Prints the parts of a document in slices, as it may have thousands of kinds. */
async function entriesOf(
  dialect: Dialect,
  { paths, roots, title = "Kubernetes" }: Part,
): Promise<DocumentEntries> {
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
  return { info, paths: sorted([...named.values()]), schemas: sorted(schemas) };
}

export async function printedDocument(
  dialect: Dialect,
  entries: DocumentEntries,
): Promise<OpenApiDocument> {
  const json = dialect.json(entries);
  return { json, hash: await hashOf(json), protobuf: () => encodedInSlices(dialect, entries) };
}

export function sorted(entries: Iterable<Entry>): Entry[] {
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

/** Structs of the machinery that the operations of these versions use under the same name. */
function sharedRoots(versions: readonly ServedVersion[], domain: Domain): OpenApiRoot[] {
  const kinds = (kind: string): GroupVersionKind[] =>
    publishedVersions(domain).map((version) => ({ ...version, kind }));
  const verbs = new Set(
    versions.flatMap(({ resources }) => resources.flatMap(({ kind }) => kind.verbs)),
  );
  const roots = [metaRoot(apiResourceList, "APIResourceList")];
  if (verbs.has("delete")) {
    roots.push({ struct: deleteOptions, kinds: kinds("DeleteOptions"), typeMeta: true });
    roots.push(metaRoot(status, "Status"));
  }
  if (verbs.has("watch")) {
    roots.push({ struct: watchEvent, kinds: kinds("WatchEvent"), typeMeta: false });
  }
  if (verbs.has("patch")) roots.push({ struct: patch, kinds: [], typeMeta: false });
  return roots;
}

function metaRoot(struct: StructType<any>, kind: string): OpenApiRoot {
  return { struct, kinds: [{ ...metaVersion, kind }], typeMeta: true };
}

function versionedPart(served: ServedVersion, domain: Domain): Part {
  const { group, version, groupVersion, resources } = served;
  const identifier = groupIdentifier(group, domain);
  const list = read({
    id: `get${capitalized(identifier)}${capitalized(version)}APIResources`,
    description: "List the resources of this group version.",
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
      ...sharedRoots([served], domain),
      ...resources.flatMap((resource) => rootsOf(resource, domain)),
    ],
  };
}

/** Swagger 2 entries are cached by resource; OpenAPI 3 is requested and cached by group version. */
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
  rest: Pick<Operation, "id" | "description" | "tag" | "response" | "media"> &
    Partial<Pick<Operation, "consumes">>,
): Operation {
  const consumes = rest.media ?? objectMedia;
  return { method: "get", parameters: [], codes: [200], streams: false, consumes, ...rest };
}

function coreVersionsPart(): Part {
  const get = read({
    id: "getCoreAPIVersions",
    description: "List the versions of the core group.",
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
    description: "List the served API groups.",
    tag: "apis",
    response: apiGroupList,
  });
  return {
    paths: [single("/apis/", get)],
    roots: [metaRoot(apiGroupList, "APIGroupList"), metaRoot(apiGroup, "APIGroup")],
  };
}

function groupPart(group: ServedGroup, domain: Domain): Part {
  const identifier = groupIdentifier(group.name, domain);
  const get = read({
    id: `get${capitalized(identifier)}APIGroup`,
    description: "Read the served and preferred versions of this group.",
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
    description: "Read the version of this server.",
    tag: "version",
    response: versionStruct,
    media: ["application/json"],
  });
  return {
    paths: [single("/version/", get)],
    roots: [{ struct: versionStruct, kinds: [], typeMeta: false }],
  };
}

/** Documents about the verification of ServiceAccount tokens, by address. */
const openIdParts: ReadonlyMap<string, () => Part> = new Map([
  openIdPart(".well-known/openid-configuration", {
    id: "getServiceAccountIssuerOpenIDConfiguration",
    description: "Read the OpenID configuration of the ServiceAccount token issuer.",
    tag: "WellKnown",
    media: ["application/json"],
  }),
  openIdPart("openid/v1/jwks", {
    id: "getServiceAccountIssuerOpenIDKeyset",
    description: "Read the public keys that verify ServiceAccount tokens, as a JSON Web Key Set.",
    tag: "openid",
    media: ["application/jwk-set+json"],
  }),
]);

function openIdPart(
  address: string,
  about: Pick<Operation, "id" | "description" | "tag" | "media">,
): [string, () => Part] {
  const get = read({ ...about, response: "text", consumes: [] });
  return [address, () => ({ paths: [single(`/${address}/`, get)], roots: [] })];
}

/** Shares the value between concurrent callers, and while anything references it. */
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
