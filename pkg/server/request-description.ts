import type { Catalog, Resource } from "#meta";
import type { Query, RequestInfo } from "#request";
import { streamMethods } from "#registry";
import type { Exchange } from "./exchange.ts";
import type { RequestRecord } from "./metrics/requests.ts";

interface Reading {
  readonly info: RequestInfo;
  readonly query: Query;
}

/**
 * Notes what metrics and logs call the request. Only names from the catalog become labels: what
 * clients make up must not grow the metrics.
 */
export function describeRequest(
  { exchange, record }: { readonly exchange: Exchange; readonly record: RequestRecord },
  { info, query }: Reading,
  catalog: Catalog,
): void {
  describe(record, info, catalog);
  if (info.verb === "patch" && applies(exchange)) record.verb = "apply";
  record.dryRun = query.has("dryRun");
}

function describe(record: RequestRecord, info: RequestInfo, catalog: Catalog): void {
  record.verb = info.verb;
  record.longRunning = isLongRunning(catalog, info);
  if (!info.isResource) record.subresource = healthPathOf(info.path);
  const resource = catalog.find(info.group, info.version, info.resource);
  if (!info.isResource || resource === undefined) return;
  record.group = info.group;
  record.version = info.version;
  record.resource = info.resource;
  const known = resource.kind.subresources.some(({ name }) => name === info.subresource);
  record.subresource = known ? info.subresource : "";
  record.scope = scopeOf(info);
  if (known && connects(resource, info.subresource)) record.verb = "connect";
  const { deprecationWarning: warning } = resource.served;
  if (warning !== undefined) record.removedRelease = removedIn.exec(warning)?.[1] ?? "";
}

/** Server-side apply is counted apart from other patches. */
function applies(exchange: Exchange): boolean {
  return exchange.header("content-type")?.startsWith("application/apply-patch+") ?? false;
}

const removedIn = /unavailable in v(\d+\.\d+)\+/;

function scopeOf({ name, verb, namespace }: RequestInfo): RequestRecord["scope"] {
  if (name !== "" || verb === "create") return "resource";
  return namespace !== "" ? "namespace" : "cluster";
}

/** Logs are read, all other streams are connections. */
function connects(resource: Resource, subresource: string): boolean {
  return subresource !== "log" && streamMethods(resource, subresource) !== undefined;
}

/** Health is asked for often enough to be told apart from other documents. */
function healthPathOf(path: string): string {
  return ["/livez", "/readyz", "/healthz"].includes(path) ? path : "";
}

/** Takes as long as it takes. */
export function isLongRunning(catalog: Catalog, info: RequestInfo): boolean {
  if (info.verb === "watch") return true;
  if (!info.isResource || info.subresource === "") return false;
  const resource = catalog.find(info.group, info.version, info.resource);
  return resource !== undefined && streamMethods(resource, info.subresource) !== undefined;
}
