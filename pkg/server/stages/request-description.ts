import type { Resource } from "#meta";
import type { Query, RequestInfo } from "#request";
import { streamMethods } from "#registry";
import type { Exchange } from "../transport/exchange.ts";
import type { RequestRecord } from "../metrics/requests.ts";

interface Reading {
  readonly info: RequestInfo;
  readonly query: Query;
  readonly resource: Resource | undefined;
  /** Whether another API server serves it. */
  readonly isRemote: boolean;
}

/**
 * Notes what metrics and logs call the request. Only names from the catalog become labels: what
 * clients make up must not grow the metrics.
 */
export function describeRequest(
  { exchange, record }: { readonly exchange: Exchange; readonly record: RequestRecord },
  { info, query, resource, isRemote }: Reading,
): void {
  describe(record, info, resource);
  if (isRemote) record.longRunning ||= mayLastRemotely(exchange, info);
  if (info.verb === "patch" && applies(exchange)) record.verb = "apply";
  record.dryRun = query.has("dryRun");
}

function describe(record: RequestRecord, info: RequestInfo, resource: Resource | undefined): void {
  record.verb = info.verb;
  record.longRunning = isLongRunning(info, resource);
  if (!info.isResource) record.subresource = healthPathOf(info.path);
  if (resource === undefined) return;
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

const remoteStreams = new Set(["attach", "exec", "log", "portforward", "proxy"]);

/** Of another server only names are known, and that the client asks for another protocol. */
function mayLastRemotely({ upgrade }: Exchange, { verb, subresource }: RequestInfo): boolean {
  return upgrade !== undefined || verb === "proxy" || remoteStreams.has(subresource);
}

/** Takes as long as it takes. */
function isLongRunning({ verb, subresource }: RequestInfo, resource?: Resource): boolean {
  if (verb === "watch") return true;
  if (resource === undefined || subresource === "") return false;
  return streamMethods(resource, subresource) !== undefined;
}
