/**
 * Serves discovery. Two rule sets decide what a client gets, as in Kubernetes: documents of a version go
 * through the router's media types first and only then through negotiation, the others are negotiated
 * at once; and only exactly `/api` and `/apis` know the aggregated form.
 */
import { createHash } from "node:crypto";
import { memoize } from "#base";
import { type Catalog, type Status, StatusError } from "#meta";
import {
  apiGroup,
  apiGroupList,
  apiResourceList,
  apiVersions,
  type Document,
  discoveryGroup,
  groupDiscoveryList,
} from "./discovery-documents.ts";
import { encodeDocument, jsonBytes } from "./document-encoding.ts";
import { type AcceptClause, acceptClauses, takenBy } from "./document-media.ts";
import type { DocumentAnswer } from "./documents.ts";
import { servedGroups } from "./group-order.ts";
import { versionInfo } from "./version.ts";

const JSON_MEDIA = "application/json";
const offered: readonly string[] = [
  JSON_MEDIA,
  "application/yaml",
  "application/vnd.kubernetes.protobuf",
];

/**
 * The answer to a discovery path (`/`, `/version`, `/api…`, `/apis…`, each also with a slash at the end),
 * or undefined when the path is none or names a group or version that is not served. Throws StatusError
 * for a `/version` in a form that does not exist.
 */
export function discoveryAnswer(
  catalog: Catalog,
  path: string,
  accept: string | undefined,
  ifNoneMatch: string | undefined,
): DocumentAnswer | undefined {
  const trimmed = path.endsWith("/") && path !== "/" ? path.slice(0, -1) : path;
  if (path === "/") return json({ paths: rootPaths(catalog) }, "any");
  if (trimmed === "/version") return versionAnswer(accept);
  const found = findDocument(catalog, trimmed.split("/").slice(1));
  if (found === undefined) return undefined;
  const clauses = acceptClauses(accept);
  if (path === "/api" || path === "/apis") {
    const media = aggregatedMedia(clauses, discoveryGroup(catalog));
    if (media !== undefined) {
      return aggregatedAnswer(catalog, { core: path === "/api", media, ifNoneMatch });
    }
  }
  return negotiated(found, clauses);
}

interface FoundDocument {
  readonly make: () => Document;
  readonly methods: DocumentAnswer["methods"];
}

/** Documents of a version and `/api` are routes for GET; the aggregator's answer to any method. */
function findDocument(catalog: Catalog, parts: readonly string[]): FoundDocument | undefined {
  const [prefix, ...rest] = parts;
  if (prefix === "api" && rest.length === 0) {
    return { make: () => apiVersions(catalog), methods: "get" };
  }
  if (prefix === "apis" && rest.length === 0) {
    return { make: () => apiGroupList(catalog), methods: "any" };
  }
  const [groupName, version, ...more] = prefix === "api" ? ["", ...rest] : rest;
  if ((prefix !== "api" && prefix !== "apis") || more.length > 0) return undefined;
  // The core group has no name by which it could be found below `/apis`.
  if (prefix === "apis" && groupName === "") return undefined;
  const group = servedGroups(catalog).find((served) => served.name === groupName);
  if (group === undefined) return undefined;
  if (version === undefined) return { make: () => apiGroup(group), methods: "any" };
  const served = group.versions.find((candidate) => candidate.version === version);
  if (served === undefined) return undefined;
  return { make: () => apiResourceList(served, catalog), methods: "get" };
}

/** The media type of the first clause that asks for aggregated discovery in a version that we speak. */
function aggregatedMedia(clauses: readonly AcceptClause[], group: string): string | undefined {
  for (const wanted of clauses) {
    const { parameters } = wanted;
    if (parameters.get("g") !== group || parameters.get("v") !== "v2") continue;
    if (parameters.get("as") !== "APIGroupDiscoveryList") continue;
    const media = takenBy(wanted, offered);
    if (media !== undefined) return media;
  }
  return undefined;
}

interface AggregatedRequest {
  readonly core: boolean;
  readonly media: string;
  readonly ifNoneMatch: string | undefined;
}

function aggregatedAnswer(catalog: Catalog, request: AggregatedRequest): DocumentAnswer {
  const { document, etag } = aggregated(catalog)[request.core ? "core" : "others"];
  const headers: Record<string, string> = {
    "content-type": `${request.media};g=${discoveryGroup(catalog)};v=v2;as=APIGroupDiscoveryList`,
    etag,
    vary: "Accept",
    "cache-control": "public",
  };
  const methods = request.core ? "get" : "any";
  if (request.ifNoneMatch === etag) {
    return { status: 304, headers: { etag, vary: "Accept" }, body: new Uint8Array(), methods };
  }
  return { status: 200, headers, body: encodeDocument(document, request.media), methods };
}

/** The tag is that of the content, whatever the form it is sent in. */
const aggregated = memoize((catalog: Catalog) => {
  const tagged = (core: boolean) => {
    const document = groupDiscoveryList(catalog, core);
    const digest = createHash("sha512").update(JSON.stringify(document)).digest("hex");
    return { document, etag: `"${digest.toUpperCase()}"` };
  };
  return { core: tagged(true), others: tagged(false) };
});

function negotiated(found: FoundDocument, clauses: readonly AcceptClause[]): DocumentAnswer {
  const { methods } = found;
  const routed = methods === "any" || clauses.some((wanted) => isRouted(wanted));
  const plain = clauses.filter(({ parameters }) => !parameters.has("as"));
  const media = plain.map((wanted) => takenBy(wanted, offered)).find((type) => type !== undefined);
  if (routed && media !== undefined) {
    const headers = { "content-type": media };
    return { status: 200, headers, body: encodeDocument(found.make(), media), methods };
  }
  const list = offered.join(", ");
  const status = routed
    ? notAcceptable(`only the following media types are accepted: ${list}`)
    : { ...notAcceptable(unroutedMessage(list)), details: {} };
  return { ...json(status, methods), status: 406 };
}

/** The router knows whole media types and `*\/*`, not `application/*`. */
function isRouted({ media }: AcceptClause): boolean {
  return media === "*/*" || offered.includes(media);
}

function unroutedMessage(available: string): string {
  return `406: Not Acceptable\n\nAvailable representations: ${available}`;
}

function notAcceptable(message: string): Status {
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message,
    reason: "NotAcceptable",
    code: 406,
  };
}

/** The error is thrown, because it is printed in the form that the client asked for. */
function versionAnswer(accept: string | undefined): DocumentAnswer {
  const wanted = acceptClauses(accept);
  if (wanted.some(({ media }) => media === "*/*" || media === JSON_MEDIA)) {
    return json(versionInfo(), "get");
  }
  throw new StatusError({ ...notAcceptable(unroutedMessage(JSON_MEDIA)), details: {} });
}

function json(value: object, methods: DocumentAnswer["methods"]): DocumentAnswer {
  const headers = { "content-type": JSON_MEDIA };
  return { status: 200, headers, body: jsonBytes(value), methods };
}

/** Paths that every server of this program has beside those of the API. */
const fixedPaths: readonly string[] = [
  "/.well-known/openid-configuration",
  "/api",
  "/apis",
  "/apis/",
  "/healthz",
  "/livez",
  "/metrics",
  "/openapi/v2",
  "/openapi/v3",
  "/openapi/v3/",
  "/openid/v1/jwks",
  "/readyz",
  "/version",
];

/** What `/` lists: every path that is served, in alphabetical order. */
function rootPaths(catalog: Catalog): readonly string[] {
  const paths = new Set(fixedPaths);
  for (const group of servedGroups(catalog)) {
    const base = group.name === "" ? "/api" : `/apis/${group.name}`;
    paths.add(base);
    for (const { version } of group.versions) paths.add(`${base}/${version}`);
  }
  return [...paths].sort();
}
