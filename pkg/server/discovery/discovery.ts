/**
 * Serves discovery. Only exactly `/api` and `/apis`, without a slash at the end, know the
 * aggregated form.
 */
import { createHash } from "node:crypto";
import type { Catalog } from "#meta";
import {
  apiGroup,
  apiGroupList,
  apiResourceList,
  apiVersions,
  type Document,
  discoveryGroup,
  groupDiscoveryList,
  groupDiscoveryText,
} from "./discovery-documents.ts";
import { encodeDocument, jsonBytes } from "./document-encoding.ts";
import type { DocumentResponse } from "./document-response.ts";
import { notRepresentable } from "../response/failures.ts";
import { servedGroup, servedGroups } from "./group-order.ts";
import { memoizeContent } from "./memoize-parts.ts";
import {
  covers,
  type Format,
  mediaTypes,
  negotiate,
  parseAccept,
  routeAccepts,
} from "../response/negotiation.ts";
import { versionInfo } from "../version.ts";

/**
 * The response to a discovery path (`/version`, `/api…`, `/apis…`, each also with a slash at the
 * end), or undefined when the path is none or names a group or version that is not served.
 * @throws StatusError 406 when no form is acceptable
 */
export function discoveryResponse(
  catalog: Catalog,
  path: string,
  accept: string | undefined,
  ifNoneMatch: string | undefined,
): DocumentResponse | undefined {
  const trimmed = path.endsWith("/") ? path.slice(0, -1) : path;
  if (trimmed === "/version") return versionResponse(accept);
  const found = findDocument(catalog, trimmed.split("/").slice(1));
  if (found === undefined) return undefined;
  if (path === "/api" || path === "/apis") {
    const format = aggregatedFormat(accept, discoveryGroup(catalog));
    if (format !== undefined) {
      return aggregatedResponse(catalog, { core: path === "/api", format, ifNoneMatch });
    }
  }
  const { format } = negotiate(accept, "status", "");
  const headers = { "content-type": mediaTypes[format] };
  const { make, methods } = found;
  return { status: 200, headers, body: encodeDocument(make(), format), methods };
}

interface FoundDocument {
  readonly make: () => Document;
  readonly methods: DocumentResponse["methods"];
}

/** Documents of a version and `/api` are routes for GET; the aggregator's respond to any method. */
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
  const group = servedGroup(catalog, groupName ?? "");
  if (group === undefined) return undefined;
  if (version === undefined) return { make: () => apiGroup(group), methods: "any" };
  const served = group.versions.find((candidate) => candidate.version === version);
  if (served === undefined) return undefined;
  return { make: () => apiResourceList(served, catalog), methods: "get" };
}

const formats: readonly Format[] = ["json", "yaml", "protobuf"];

/**
 * The format of the best clause that asks for aggregated discovery in a version that is spoken
 * here.
 */
function aggregatedFormat(accept: string | undefined, group: string): Format | undefined {
  for (const clause of parseAccept(accept ?? "")) {
    const { parameters } = clause;
    if (parameters.get("g") !== group || parameters.get("v") !== "v2") continue;
    if (parameters.get("as") !== "APIGroupDiscoveryList") continue;
    const found = formats.find((format) => covers(clause, mediaTypes[format]));
    if (found !== undefined) return found;
  }
  return undefined;
}

interface AggregatedRequest {
  readonly core: boolean;
  readonly format: Format;
  readonly ifNoneMatch: string | undefined;
}

function aggregatedResponse(catalog: Catalog, request: AggregatedRequest): DocumentResponse {
  const { document, text, etag } = aggregated(catalog)[request.core ? "core" : "others"];
  const form = `g=${discoveryGroup(catalog)};v=v2;as=APIGroupDiscoveryList`;
  const headers = {
    "content-type": `${mediaTypes[request.format]};${form}`,
    etag,
    vary: "Accept",
    "cache-control": "public",
  };
  const methods = request.core ? "get" : "any";
  if (request.ifNoneMatch === etag) {
    return { status: 304, headers: { etag, vary: "Accept" }, body: new Uint8Array(), methods };
  }
  const { format } = request;
  const body = format === "json" ? Buffer.from(`${text}\n`) : encodeDocument(document(), format);
  return { status: 200, headers, body, methods };
}

/** The tag is that of the content, whatever the form it is sent in. */
const aggregated = memoizeContent((catalog) => {
  const tagged = (core: boolean) => {
    const text = groupDiscoveryText(catalog, core);
    const digest = createHash("sha512").update(text).digest("hex");
    const document = () => groupDiscoveryList(catalog, core);
    return { document, text, etag: `"${digest.toUpperCase()}"` };
  };
  return { core: tagged(true), others: tagged(false) };
});

function versionResponse(accept: string | undefined): DocumentResponse {
  if (!routeAccepts(accept, [mediaTypes.json])) throw notRepresentable([mediaTypes.json]);
  const headers = { "content-type": mediaTypes.json };
  // Indented for every client, as by kube-apiserver.
  const body = Buffer.from(JSON.stringify(versionInfo(), null, 2));
  return { status: 200, headers, body, methods: "get" };
}

function json(value: object, methods: DocumentResponse["methods"]): DocumentResponse {
  const headers = { "content-type": mediaTypes.json };
  return { status: 200, headers, body: jsonBytes(value), methods };
}

/** Paths that every server of this program has beside those of the API. */
const fixedPaths: readonly string[] = [
  "/.well-known/openid-configuration",
  "/api",
  "/apis",
  "/apis/",
  "/metrics",
  "/metrics/slis",
  "/openapi/v2",
  "/openapi/v3",
  "/openapi/v3/",
  "/openid/v1/jwks",
  "/version",
];

/** What `/` lists: every path that is served, in alphabetical order, `others` among them. */
export function rootResponse(catalog: Catalog, others: readonly string[]): DocumentResponse {
  const paths = new Set([...fixedPaths, ...others]);
  for (const group of servedGroups(catalog)) {
    const base = group.name === "" ? "/api" : `/apis/${group.name}`;
    paths.add(base);
    for (const { version } of group.versions) paths.add(`${base}/${version}`);
  }
  return json({ paths: [...paths].sort() }, "any");
}
