/**
 * Serves discovery. Only exactly `/api` and `/apis`, without a slash at the end, know the
 * aggregated form.
 */
import { createHash } from "node:crypto";
import type { DiscoverySnapshot } from "#aggregator";
import { memoize } from "#base";
import {
  type AggregatedVersion,
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
import { discoveredGroups, type DiscoveryView } from "./discovered-groups.ts";
import { memoizeContent } from "./memoize-parts.ts";
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
 * The response to a discovery path (`/version`, `/api…`, `/apis…`, each also with a slash at the
 * end), or undefined when the path is none or names a group or version that is not served.
 * @throws StatusError 406 when no form is acceptable
 */
export function discoveryResponse(
  view: DiscoveryView,
  path: string,
  accept: string | undefined,
  ifNoneMatch: string | undefined,
): DocumentResponse | undefined {
  const trimmed = path.endsWith("/") ? path.slice(0, -1) : path;
  if (trimmed === "/version") return versionResponse(accept);
  const found = findDocument(view, trimmed.split("/").slice(1));
  if (found === undefined) return undefined;
  if (path === "/api" || path === "/apis") {
    const form = aggregatedForm(accept, view);
    if (form !== undefined) {
      return aggregatedResponse(view, { core: path === "/api", ...form, ifNoneMatch });
    }
  }
  const { make, methods } = found;
  const isRoute = methods === "get";
  const { format } = isRoute ? negotiate(accept, "status", "") : negotiateDocument(accept);
  const headers = { "content-type": mediaTypes[format] };
  return { status: 200, headers, body: encodeDocument(make(), format), methods };
}

interface FoundDocument {
  readonly make: () => Document;
  readonly methods: DocumentResponse["methods"];
}

/** Documents of a version and `/api` are routes for GET; the aggregator's respond to any method. */
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
  // The core group has no name by which it could be found below `/apis`.
  if (prefix === "apis" && groupName === "") return undefined;
  const group = discoveredGroups(view).listed.find(({ name }) => name === groupName);
  if (group === undefined) return undefined;
  if (version === undefined) return { make: () => apiGroup(group), methods: "any" };
  const found = group.versions.find((candidate) => candidate.version === version);
  // The resources of another server are that server's to list.
  if (found === undefined || "remote" in found || found.served === undefined) return undefined;
  const { served } = found;
  return { make: () => apiResourceList(served, view.catalog), methods: "get" };
}

const formats: readonly Format[] = ["json", "yaml", "protobuf"];

interface AggregatedForm {
  readonly format: Format;
  readonly version: AggregatedVersion;
}

/** What the best clause asks for of those that ask for aggregated discovery. */
function aggregatedForm(
  accept: string | undefined,
  { catalog, servesBeta }: DiscoveryView,
): AggregatedForm | undefined {
  const group = discoveryGroup(catalog);
  for (const clause of parseAccept(accept ?? "")) {
    const { parameters } = clause;
    const version = parameters.get("v");
    if (parameters.get("g") !== group) continue;
    if (version !== "v2" && !(servesBeta && version === "v2beta1")) continue;
    if (parameters.get("as") !== "APIGroupDiscoveryList") continue;
    const format = formats.find((each) => covers(clause, mediaTypes[each]));
    if (format !== undefined) return { format, version };
  }
  return undefined;
}

interface AggregatedRequest extends AggregatedForm {
  readonly core: boolean;
  readonly ifNoneMatch: string | undefined;
}

function aggregatedResponse(view: DiscoveryView, request: AggregatedRequest): DocumentResponse {
  const { core, format, version } = request;
  const { text, etag } = aggregated(view.catalog)(view.registered)[core ? "core" : "others"]();
  const form = `g=${discoveryGroup(view.catalog)};v=${version};as=APIGroupDiscoveryList`;
  const headers = {
    "content-type": `${mediaTypes[format]};${form}`,
    etag,
    vary: "Accept",
    "cache-control": "public",
  };
  const methods = core ? "get" : "any";
  if (request.ifNoneMatch === etag) {
    return { status: 304, headers: { etag, vary: "Accept" }, body: new Uint8Array(), methods };
  }
  const json = () => (version === "v2" ? text : groupDiscoveryText(view, core, version));
  const body =
    format === "json"
      ? Buffer.from(`${json()}\n`)
      : encodeDocument(groupDiscoveryList(view, core, version), format);
  return { status: 200, headers, body, methods };
}

/** The tag is that of the content, whatever the form it is sent in. */
const aggregated = memoizeContent((catalog) =>
  memoize((registered: DiscoverySnapshot) => {
    const view = { catalog, registered, servesBeta: false };
    const tagged = (core: boolean) =>
      lazily(() => {
        const text = groupDiscoveryText(view, core, "v2");
        const digest = createHash("sha512").update(text).digest("hex");
        return { text, etag: `"${digest.toUpperCase()}"` };
      });
    return { core: tagged(true), others: tagged(false) };
  }),
);

function lazily<V>(make: () => V): () => V {
  let made: { readonly value: V } | undefined;
  return () => (made ??= { value: make() }).value;
}

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
export function rootResponse(view: DiscoveryView, others: readonly string[]): DocumentResponse {
  const paths = new Set([...fixedPaths, ...others]);
  for (const group of discoveredGroups(view).listed) {
    const base = group.name === "" ? "/api" : `/apis/${group.name}`;
    paths.add(base);
    for (const { version } of group.versions) paths.add(`${base}/${version}`);
  }
  return json({ paths: [...paths].sort() }, "any");
}
