/** Serves discovery. Aggregated discovery is served at `/api` and `/apis` without trailing slash only. */
import { createHash } from "node:crypto";
import type { DiscoverySnapshot } from "#aggregator";
import { memoize, printJson } from "#base";
import { kubernetes } from "#meta";
import {
  type AggregatedType,
  apiGroup,
  apiGroupList,
  apiResourceList,
  apiVersions,
  type Document,
  discoveryGroup,
  groupDiscoveryList,
  groupDiscoveryText,
} from "./discovery-documents.ts";
import { encodeDocument } from "./document-encoding.ts";
import type { DocumentResponse } from "./document-response.ts";
import { notRepresentable } from "../response/failures.ts";
import { indented } from "../response/indent.ts";
import { discoveredGroups, type DiscoveryView } from "./discovered-groups.ts";
import { lazily, memoizeContent } from "./memoize-parts.ts";
import {
  covers,
  type Format,
  mediaTypes,
  negotiate,
  negotiateDocument,
  parseAccept,
  routeAccepts,
} from "../response/negotiation.ts";
import { versionInfo } from "../version.ts";

/**
 * The response to a discovery path (`/version`, `/api…`, `/apis…`, with or without trailing slash), or
 * undefined if it is no such path or its group or version is not served.
 * @throws StatusError 406 if no media type is acceptable
 */
export function discoveryResponse(
  view: DiscoveryView,
  path: string,
  accept: string | undefined,
  ifNoneMatch: string | undefined,
): DocumentResponse | undefined {
  const trimmed = path.endsWith("/") ? path.slice(0, -1) : path;
  if (trimmed === "/version") return versionResponse(accept);
  const document = findDocument(view, trimmed.split("/").slice(1));
  if (document === undefined) return undefined;
  if (path === "/api" || path === "/apis") {
    const mediaType = negotiateAggregated(accept, view);
    if (mediaType !== undefined) {
      return aggregatedResponse(view, { core: path === "/api", ...mediaType, ifNoneMatch });
    }
  }
  const { make, methods } = document;
  const isRoute = methods === "get";
  const { format } = isRoute ? negotiate(accept, "status", "") : negotiateDocument(accept);
  const headers = { "content-type": mediaTypes[format] };
  return { status: 200, headers, body: encodeDocument(make(), format), methods };
}

interface FoundDocument {
  readonly make: () => Document;
  readonly methods: DocumentResponse["methods"];
}

/**
 * Finds a document. As in kube-apiserver, `/apis`, `/apis/<group>` and versions that have only custom
 * resources respond to any method.
 */
function findDocument(view: DiscoveryView, parts: readonly string[]): FoundDocument | undefined {
  const [prefix, ...rest] = parts;
  if (prefix === "api" && rest.length === 0) {
    return { make: () => apiVersions(view), methods: "get" };
  }
  if (prefix === "apis" && rest.length === 0) {
    return { make: () => apiGroupList(view), methods: "any" };
  }
  const [groupName = "", version, ...more] = prefix === "api" ? ["", ...rest] : rest;
  if ((prefix !== "api" && prefix !== "apis") || more.length > 0) return undefined;
  // The core group is not served below `/apis`.
  if (prefix === "apis" && groupName === "") return undefined;
  const group = discoveredGroups(view).registered.find(({ name }) => name === groupName);
  if (group === undefined) return undefined;
  if (version === undefined) return { make: () => apiGroup(group), methods: "any" };
  const discovered = group.versions.find((candidate) => candidate.version === version);
  // The resource list of an aggregated version is proxied to its server.
  if (discovered === undefined || "remote" in discovered) return undefined;
  const { served } = discovered;
  if (served === undefined) return undefined;
  const isCustom = served.resources.every(({ kind }) => kind.custom !== undefined);
  const methods = isCustom ? "any" : "get";
  return { make: () => apiResourceList(served, view.catalog), methods };
}

const formats: readonly Format[] = ["json", "yaml", "protobuf"];

interface AggregatedMediaType extends AggregatedType {
  readonly format: Format;
}

/** The preferred media type of aggregated discovery that `Accept` names, if any. */
function negotiateAggregated(
  accept: string | undefined,
  { catalog, servesBeta }: DiscoveryView,
): AggregatedMediaType | undefined {
  const groups = [discoveryGroup(catalog), discoveryGroup({ domain: kubernetes })];
  for (const clause of parseAccept(accept ?? "")) {
    const { parameters } = clause;
    const version = parameters.get("v");
    const group = parameters.get("g") ?? "";
    if (!groups.includes(group)) continue;
    if (version !== "v2" && !(servesBeta && version === "v2beta1")) continue;
    if (parameters.get("as") !== "APIGroupDiscoveryList") continue;
    const format = formats.find((each) => covers(clause, mediaTypes[each]));
    if (format !== undefined) return { format, group, version };
  }
  return undefined;
}

interface AggregatedRequest extends AggregatedMediaType {
  readonly core: boolean;
  readonly ifNoneMatch: string | undefined;
}

function aggregatedResponse(view: DiscoveryView, request: AggregatedRequest): DocumentResponse {
  const { core, format, group, version } = request;
  const { text, etag } = aggregated(view.catalog)(view.registered)[core ? "core" : "others"]();
  const parameters = `g=${group};v=${version};as=APIGroupDiscoveryList`;
  const headers = {
    "content-type": `${mediaTypes[format]};${parameters}`,
    etag,
    vary: "Accept",
    "cache-control": "public",
  };
  const methods = core ? "get" : "any";
  if (request.ifNoneMatch === etag) {
    return { status: 304, headers: { etag, vary: "Accept" }, body: new Uint8Array(), methods };
  }
  const isCached = version === "v2" && group === discoveryGroup(view.catalog);
  const json = () => (isCached ? text : groupDiscoveryText(view, core, request));
  const body =
    format === "json"
      ? Buffer.from(`${json()}\n`)
      : encodeDocument(groupDiscoveryList(view, core, request), format);
  return { status: 200, headers, body, methods };
}

/** Text and entity tag of the documents; the tag is the same for all formats. */
const aggregated = memoizeContent((catalog) =>
  memoize((registered: DiscoverySnapshot) => {
    const view = { catalog, registered, servesBeta: false };
    const tagged = (core: boolean) =>
      lazily(() => {
        const text = groupDiscoveryText(view, core, {
          group: discoveryGroup(catalog),
          version: "v2",
        });
        const digest = createHash("sha512").update(text).digest("hex");
        return { text, etag: `"${digest.toUpperCase()}"` };
      });
    return { core: tagged(true), others: tagged(false) };
  }),
);

function versionResponse(accept: string | undefined): DocumentResponse {
  if (!routeAccepts(accept, [mediaTypes.json])) throw notRepresentable([mediaTypes.json]);
  return indentedJson(versionInfo(), "get");
}

/** JSON that kube-apiserver indents for every client. */
function indentedJson(value: object, methods: DocumentResponse["methods"]): DocumentResponse {
  const headers = { "content-type": mediaTypes.json };
  const text = printJson(value, 2);
  const body = Buffer.from(text);
  return { status: 200, headers, body, methods };
}

/** The document as indented JSON, for clients that negotiate it. */
export async function prettyDocument(document: DocumentResponse): Promise<DocumentResponse> {
  const { status, headers, body } = document;
  const isJson = headers["content-type"]?.startsWith(mediaTypes.json) === true;
  const text = Buffer.from(body).toString("utf8");
  // Compact JSON ends with its only line feed.
  if (status !== 200 || !isJson || text.indexOf("\n") !== text.length - 1) return document;
  const pieces = await indented(text.slice(0, -1));
  return { ...document, body: Buffer.from(pieces.join("")) };
}

/** Paths of every server besides those of API groups. */
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

/** The document at `/`: all served paths, including `others`, in alphabetical order. */
export function rootResponse(view: DiscoveryView, others: readonly string[]): DocumentResponse {
  const paths = new Set([...fixedPaths, ...others]);
  for (const group of discoveredGroups(view).registered) {
    const base = group.name === "" ? "/api" : `/apis/${group.name}`;
    paths.add(base);
    for (const { version } of group.versions) paths.add(`${base}/${version}`);
  }
  return indentedJson({ paths: [...paths].sort() }, "any");
}
