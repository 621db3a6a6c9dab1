/**
 * OpenAPI documents of a catalog. The document of a group version is built on its first request and
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
import { lazily, memoizeContent, memoizeParts } from "../discovery/memoize-parts.ts";
import { type Dialect, type DocumentEntries, dialectOf, type Entry } from "./dialects.ts";
import { capitalized, groupIdentifier, type Operation, patch } from "./operation.ts";
import { pathsOf } from "./operations.ts";
import { objectMedia } from "./printing.ts";
import { publishedVersions } from "./published-versions.ts";
import { rootsOf } from "./roots.ts";
import { versionInfo, versionStruct } from "../version.ts";

/** One OpenAPI document, in chunks. */
export interface OpenApiDocument {
  readonly json: readonly Uint8Array[];
  /** SHA-512 in upper-case hexadecimal: `hash` parameter of the document's URL, and its entity tag. */
  readonly hash: string;
  /** gnostic's Document message, encoded on demand. Absent = the document has no Protobuf form. */
  readonly protobuf?: () => Promise<readonly Uint8Array[]>;
  /** Definitions that could not be printed, with the errors. */
  readonly faults: readonly string[];
}

/** Paths and root structs from which a dialect prints a document. */
interface DocumentSource {
  /** Defaults to `Kubernetes`. */
  readonly title?: string;
  /** Printing yields to other requests between these. */
  readonly paths: readonly PathSource[];
  readonly roots: readonly OpenApiRoot[];
}

type PathSource = (dialect: Dialect) => readonly Entry[];

/** A document that is built on its first request. */
interface OpenApiEntry {
  readonly hash: () => Promise<string>;
  readonly document: () => Promise<OpenApiDocument>;
}

/** OpenAPI 3 documents by their path below `/openapi/v3/`. */
export const openApiV3Documents = memoizeContent((catalog): ReadonlyMap<string, OpenApiEntry> => {
  const { domain } = catalog;
  const documents = new Map<string, OpenApiEntry>();
  const add = (address: string, source: () => DocumentSource) =>
    documents.set(address, entryOf(lazily(() => printSource(dialectOf("v3", catalog), source()))));
  add("api", coreVersionsSource);
  add("apis", groupListSource);
  add("version", versionInfoSource);
  for (const [address, source] of openIdSources) add(address, source);
  for (const group of servedGroups(catalog)) {
    const base = group.name === "" ? "api" : `apis/${group.name}`;
    if (group.name !== "" && !isCustom(group)) add(base, () => groupSource(group, domain));
    for (const served of group.versions) {
      documents.set(
        `${base}/${served.version}`,
        versionEntry(served)(domain)(dialectOf("v3", catalog)),
      );
    }
  }
  return documents;
});

function isCustom({ versions }: ServedGroup): boolean {
  return versions.every(({ resources }) => resources.every(({ kind }) => kind.custom));
}

function entryOf(document: () => Promise<OpenApiDocument>): OpenApiEntry {
  return { hash: async () => (await document()).hash, document };
}

const versionEntry = memoize((served: ServedVersion) =>
  memoize((domain: Domain) =>
    memoize((dialect: Dialect): OpenApiEntry => {
      const print = () => printSource(dialect, versionSource(served, domain));
      const [first] = served.resources;
      if (first?.kind.custom === undefined) {
        const identity = [dialect, ...identityOf(domain, served.resources)];
        return entryOf(() => versionDocuments(identity, print));
      }
      const hash = lazily(() => customHash(served));
      const document = sharedWhileUsed(async () => ({ ...(await print()), hash: hash() }));
      return { hash: async () => hash(), document };
    }),
  ),
);

/**
 * Hash of a document of custom resources. As these can be many and change often, their definitions are
 * hashed instead of the printed document: the index builds none of them. They are not cached here,
 * because clients cache them by the hash.
 */
function customHash({ resources }: ServedVersion): string {
  const fingerprints = resources.map(({ kind }) => kind.custom?.fingerprint ?? kind.kind);
  const text = JSON.stringify([versionInfo().gitVersion, ...fingerprints]);
  return createHash("sha512").update(text).digest("hex").toUpperCase();
}

/** The objects that the printed paths and schemas of resources depend on, as keys of memoizeParts. */
function identityOf(domain: Domain, resources: readonly Resource[]): readonly object[] {
  return [domain, ...resources.flatMap(({ kind, served }) => [kind, served])];
}

const versionDocuments = memoizeParts<Promise<OpenApiDocument>>();
const swaggerPaths = memoizeParts<readonly Entry[]>();

/** The Swagger 2.0 document of the whole API, built once for concurrent requests. */
export const openApiV2Document = memoizeContent(async (catalog): Promise<OpenApiDocument> =>
  printDocument(dialectOf("v2", catalog), await openApiV2Entries(catalog)),
);

/** The contents of the Swagger 2.0 document. */
export const openApiV2Entries = memoizeContent((catalog): Promise<DocumentEntries> => {
  const { domain } = catalog;
  const groups = servedGroups(catalog);
  const served = groups.flatMap((group) => group.versions);
  const sources = [
    ...served.map((version) => versionSource(version, domain)),
    coreVersionsSource(),
    groupListSource(),
    versionInfoSource(),
    ...[...openIdSources.values()].map((source) => source()),
    ...groups.filter(({ name }) => name !== "").map((group) => groupSource(group, domain)),
    // Last, to replace those of the other sources, which are for one group version each.
    { paths: [], roots: sharedRoots(served, domain) },
  ];
  return entriesOf(dialectOf("v2", catalog), {
    paths: sources.flatMap(({ paths }) => paths),
    roots: sources.flatMap(({ roots }) => roots),
  });
});

async function printSource(dialect: Dialect, source: DocumentSource): Promise<OpenApiDocument> {
  return printDocument(dialect, await entriesOf(dialect, source));
}

/** Prints the entries of a document, yielding between them: there may be thousands of kinds. */
async function entriesOf(
  dialect: Dialect,
  { paths, roots, title = "Kubernetes" }: DocumentSource,
): Promise<DocumentEntries> {
  const turn = yieldEvery();
  const pathsByName = new Map<string, Entry>();
  for (const source of paths) {
    for (const entry of source(dialect)) pathsByName.set(entry.name, entry);
    await turn();
  }
  const schemas: Entry[] = [];
  for (const [, { entry }] of openApiDefinitions(roots, openApiName, dialect.define)) {
    schemas.push(entry);
    await turn();
  }
  const info = { title, version: versionInfo().gitVersion };
  return { info, paths: sortedByName(pathsByName.values()), schemas: sortedByName(schemas) };
}

export async function printDocument(
  dialect: Dialect,
  entries: DocumentEntries,
): Promise<OpenApiDocument> {
  const json = dialect.json(entries);
  return {
    json,
    hash: await hashOf(json),
    protobuf: () => encodeProtobuf(dialect, entries),
    faults: entries.schemas.flatMap(({ fault }) => fault ?? []),
  };
}

export function sortedByName(entries: Iterable<Entry>): Entry[] {
  return [...entries].sort((a, b) => (a.name < b.name ? -1 : 1));
}

async function hashOf(chunks: readonly Uint8Array[]): Promise<string> {
  const turn = yieldEvery();
  const hash = createHash("sha512");
  for (const chunk of chunks) {
    hash.update(chunk);
    await turn();
  }
  return hash.digest("hex").toUpperCase();
}

/** Encodes a document, yielding between its entries. */
async function encodeProtobuf(
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

/** The meta structs, such as DeleteOptions, that the operations of these versions refer to. */
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

function versionSource(served: ServedVersion, domain: Domain): DocumentSource {
  const { group, version, groupVersion, resources } = served;
  const identifier = groupIdentifier(group, domain);
  const list = getOperation({
    id: `get${capitalized(identifier)}${capitalized(version)}APIResources`,
    description: "List the resources of this group version.",
    tag: `${identifier}_${version}`,
    response: apiResourceList,
  });
  const base = group === "" ? "/api" : "/apis";
  const custom = resources.every(({ kind }) => kind.custom !== undefined);
  const root = pathSource(`${base}/${groupVersion}/`, list);
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

/** Paths of a resource. Swagger's are cached by resource, OpenAPI 3 documents by group version. */
function pathsOfResource(resource: Resource, domain: Domain): PathSource {
  return (dialect) => {
    const print = () => pathsOf(resource, domain).map(dialect.path);
    return dialect.version === "v2" ? swaggerPaths(identityOf(domain, [resource]), print) : print();
  };
}

function pathSource(path: string, operation: Operation): PathSource {
  return (dialect) => [dialect.path({ path, parameters: [], operations: [operation] })];
}

function getOperation(
  rest: Pick<Operation, "id" | "description" | "tag" | "response" | "media"> &
    Partial<Pick<Operation, "consumes">>,
): Operation {
  const consumes = rest.media ?? objectMedia;
  return { method: "get", parameters: [], codes: [200], streams: false, consumes, ...rest };
}

function coreVersionsSource(): DocumentSource {
  const get = getOperation({
    id: "getCoreAPIVersions",
    description: "List the versions of the core group.",
    tag: "core",
    response: apiVersions,
  });
  return {
    paths: [pathSource("/api/", get)],
    roots: [metaRoot(apiVersions, "APIVersions")],
  };
}

function groupListSource(): DocumentSource {
  const get = getOperation({
    id: "getAPIVersions",
    description: "List the served API groups.",
    tag: "apis",
    response: apiGroupList,
  });
  return {
    paths: [pathSource("/apis/", get)],
    roots: [metaRoot(apiGroupList, "APIGroupList"), metaRoot(apiGroup, "APIGroup")],
  };
}

function groupSource(group: ServedGroup, domain: Domain): DocumentSource {
  const identifier = groupIdentifier(group.name, domain);
  const get = getOperation({
    id: `get${capitalized(identifier)}APIGroup`,
    description: "Read the served and preferred versions of this group.",
    tag: identifier,
    response: apiGroup,
  });
  return {
    paths: [pathSource(`/apis/${group.name}/`, get)],
    roots: [metaRoot(apiGroup, "APIGroup")],
  };
}

function versionInfoSource(): DocumentSource {
  const get = getOperation({
    id: "getCodeVersion",
    description: "Read the version of this server.",
    tag: "version",
    response: versionStruct,
    media: ["application/json"],
  });
  return {
    paths: [pathSource("/version/", get)],
    roots: [{ struct: versionStruct, kinds: [], typeMeta: false }],
  };
}

/** Documents of service account issuer discovery, by path. */
const openIdSources: ReadonlyMap<string, () => DocumentSource> = new Map([
  openIdSource(".well-known/openid-configuration", {
    id: "getServiceAccountIssuerOpenIDConfiguration",
    description: "Read the OpenID configuration of the ServiceAccount token issuer.",
    tag: "WellKnown",
    media: ["application/json"],
  }),
  openIdSource("openid/v1/jwks", {
    id: "getServiceAccountIssuerOpenIDKeyset",
    description: "Read the public keys that verify ServiceAccount tokens, as a JSON Web Key Set.",
    tag: "openid",
    media: ["application/jwk-set+json"],
  }),
]);

function openIdSource(
  address: string,
  rest: Pick<Operation, "id" | "description" | "tag" | "media">,
): [string, () => DocumentSource] {
  const get = getOperation({ ...rest, response: "text", consumes: [] });
  return [address, () => ({ paths: [pathSource(`/${address}/`, get)], roots: [] })];
}

/** Shares the result among concurrent callers, and until it is garbage-collected. */
function sharedWhileUsed<V extends object>(make: () => Promise<V>): () => Promise<V> {
  let making: Promise<V> | undefined;
  let made: WeakRef<V> | undefined;
  return async () => {
    const shared = made?.deref();
    if (shared !== undefined) return shared;
    making ??= make().finally(() => (making = undefined));
    const value = await making;
    made = new WeakRef(value);
    return value;
  };
}
