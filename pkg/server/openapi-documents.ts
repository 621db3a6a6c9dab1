/**
 * OpenAPI documents of a catalog. Each group version's part is built once, when somebody first
 * asks, and shared by every catalog that serves the same kinds in it.
 */
import { createHash } from "node:crypto";
import { memoize } from "#base";
import {
  apiGroup,
  apiGroupList,
  apiResourceList,
  apiVersions,
  deleteOptions,
  status,
  watchEvent,
} from "#api";
import { type Domain, openApiName } from "#meta";
import {
  type GroupVersionKind,
  type OpenApiRoot,
  openApiV2,
  openApiV3,
  type StructType,
} from "#schema";
import { type ServedGroup, servedGroups, type ServedVersion } from "./group-order.ts";
import { memoizeContent, memoizeParts } from "./memoize-parts.ts";
import {
  capitalized,
  groupIdentifier,
  type Operation,
  patch,
  type PathItem,
  pathsOf,
} from "./openapi-operations.ts";
import { pathV2, pathV3 } from "./openapi-printing.ts";
import { encodeAlong, type Shape } from "./openapi-protobuf.ts";
import { rootsOf } from "./openapi-roots.ts";
import { documentV2, documentV3 } from "./openapi-shapes.ts";
import { versionInfo, versionStruct } from "./version.ts";

/** One OpenAPI document. */
export interface OpenApiDocument {
  readonly value: Readonly<Record<string, unknown>>;
  readonly json: Uint8Array;
  /** SHA-512 of `json`, upper-case hexadecimal: part of the document's address, and its tag. */
  readonly hash: string;
  /** gnostic's Document message, made when it is first wanted. */
  readonly protobuf: () => Uint8Array;
}

/** The paths and roots of one document, before a dialect prints them. */
interface Part {
  /** Instead of the usual one. */
  readonly title?: string;
  readonly paths: readonly PathItem[];
  readonly roots: readonly OpenApiRoot[];
}

const bearerToken = {
  type: "apiKey",
  in: "header",
  name: "authorization",
  description: "A bearer token.",
};

/** What is found at an address; built when it is first asked for. */
interface OpenApiEntry {
  readonly hash: () => string;
  readonly document: () => OpenApiDocument;
}

/** Addresses below `/openapi/v3/` and what is found there. */
export const openApiV3Documents = memoizeContent((catalog): ReadonlyMap<string, OpenApiEntry> => {
  const { domain } = catalog;
  const found = new Map<string, OpenApiEntry>();
  const add = (address: string, part: () => Part) =>
    found.set(address, entryOf(lazily(() => printV3(part()))));
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

function entryOf(document: () => OpenApiDocument): OpenApiEntry {
  return { hash: () => document().hash, document };
}

const versionEntries = memoize((served: ServedVersion) =>
  memoize((domain: Domain): OpenApiEntry => {
    const print = () => printV3(versionedPart(served, domain));
    const [first] = served.resources;
    if (first?.kind.custom === undefined) {
      return entryOf(() => versionDocuments(identityOf(served, domain), print));
    }
    const hash = lazily(() => customHash(served));
    return { hash, document: () => ({ ...print(), hash: hash() }) };
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

/** A group version's document depends on these values and on nothing else. */
function identityOf(served: ServedVersion, domain: Domain): readonly object[] {
  return [domain, ...served.resources.flatMap(({ kind, served: version }) => [kind, version])];
}

const versionDocuments = memoizeParts<OpenApiDocument>();
const versionPartsV2 = memoizeParts<PrintedPart>();

function printV3({ paths, roots, title }: Part): OpenApiDocument {
  const value = {
    openapi: "3.0.0",
    info: { ...infoOf(), ...(title === undefined ? {} : { title }) },
    paths: Object.fromEntries(paths.map((item) => [item.path, pathV3(item)])),
    components: {
      schemas: openApiV3(roots, openApiName),
      securitySchemes: { BearerToken: bearerToken },
    },
  };
  return documentOf(value, documentV3);
}

function infoOf() {
  return { title: "Kubernetes", version: versionInfo().gitVersion };
}

function documentOf(value: Readonly<Record<string, unknown>>, shape: Shape): OpenApiDocument {
  const json = Buffer.from(JSON.stringify(value));
  const hash = createHash("sha512").update(json).digest("hex").toUpperCase();
  return { value, json, hash, protobuf: lazily(() => encodeAlong(shape, value)) };
}

/** The whole API in one Swagger 2.0 document, put together from parts that are kept. */
export const openApiV2Document = memoizeContent((catalog): OpenApiDocument => {
  const { domain } = catalog;
  const served = servedGroups(catalog).flatMap((group) => group.versions);
  const parts = [
    ...served.map((version) =>
      versionPartsV2(identityOf(version, domain), () => printV2(versionedPart(version, domain))),
    ),
    ...[coreVersionsPart(), groupListPart(), versionPart()].map(printV2),
    ...servedGroups(catalog)
      .filter(({ name }) => name !== "")
      .map((group) => printV2(groupPart(group, domain))),
    // Last, so that these replace the parts' own, which know one group version each.
    { paths: {}, definitions: openApiV2(sharedRoots(served), openApiName) },
  ];
  const value = {
    swagger: "2.0",
    info: infoOf(),
    paths: sortedUnion(parts.map(({ paths }) => paths)),
    definitions: sortedUnion(parts.map(({ definitions }) => definitions)),
    securityDefinitions: { BearerToken: bearerToken },
    security: [{ BearerToken: [] }],
  };
  return documentOf(value, documentV2);
});

interface PrintedPart {
  readonly paths: Readonly<Record<string, unknown>>;
  readonly definitions: Readonly<Record<string, unknown>>;
}

function printV2({ paths, roots }: Part): PrintedPart {
  return {
    paths: Object.fromEntries(paths.map((item) => [item.path, pathV2(item)])),
    definitions: openApiV2(roots, openApiName),
  };
}

function sortedUnion(records: readonly Readonly<Record<string, unknown>>[]) {
  const all = new Map(records.flatMap((record) => Object.entries(record)));
  return Object.fromEntries([...all].sort(([a], [b]) => (a < b ? -1 : 1)));
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
    answer: apiResourceList,
  });
  const base = group === "" ? "/api" : "/apis";
  const custom = resources.every(({ kind }) => kind.custom !== undefined);
  const root = { path: `${base}/${groupVersion}/`, parameters: [], operations: [list] };
  return {
    ...(custom ? { title: "Kubernetes CRD Swagger" } : {}),
    paths: [
      ...(custom ? [] : [root]),
      ...resources.flatMap((resource) => pathsOf(resource, domain)),
    ],
    roots: [
      ...sharedRoots([served]),
      ...resources.flatMap((resource) => rootsOf(resource, domain)),
    ],
  };
}

function read(rest: Pick<Operation, "id" | "description" | "tag" | "answer" | "media">): Operation {
  return { method: "get", parameters: [], codes: [200], streams: false, ...rest };
}

function coreVersionsPart(): Part {
  const get = read({
    id: "getCoreAPIVersions",
    description: "The versions of the core group.",
    tag: "core",
    answer: apiVersions,
  });
  return {
    paths: [{ path: "/api/", parameters: [], operations: [get] }],
    roots: [metaRoot(apiVersions, "APIVersions")],
  };
}

function groupListPart(): Part {
  const get = read({
    id: "getAPIVersions",
    description: "Every group that is served.",
    tag: "apis",
    answer: apiGroupList,
  });
  return {
    paths: [{ path: "/apis/", parameters: [], operations: [get] }],
    roots: [metaRoot(apiGroupList, "APIGroupList")],
  };
}

function groupPart(group: ServedGroup, domain: Domain): Part {
  const identifier = groupIdentifier(group.name, domain);
  const get = read({
    id: `get${capitalized(identifier)}APIGroup`,
    description: "The versions of this group.",
    tag: identifier,
    answer: apiGroup,
  });
  return {
    paths: [{ path: `/apis/${group.name}/`, parameters: [], operations: [get] }],
    roots: [metaRoot(apiGroup, "APIGroup")],
  };
}

function versionPart(): Part {
  const get = read({
    id: "getCodeVersion",
    description: "The version of this server.",
    tag: "version",
    answer: versionStruct,
    media: ["application/json"],
  });
  return {
    paths: [{ path: "/version/", parameters: [], operations: [get] }],
    roots: [{ struct: versionStruct, kinds: [], typeMeta: false }],
  };
}

function lazily<V>(make: () => V): () => V {
  let made: { readonly value: V } | undefined;
  return () => (made ??= { value: make() }).value;
}
