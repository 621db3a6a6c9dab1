import type { Resource } from "#meta";
import type { Query, RequestInfo } from "#request";
import { connectMethods } from "#registry";
import type { Exchange } from "../transport/exchange.ts";
import type { RequestRecord } from "../metrics/requests.ts";

interface ParsedRequest {
  readonly info: RequestInfo;
  readonly query: Query;
  readonly resource: Resource | undefined;
  /** Whether an aggregated API server serves it. */
  readonly isRemote: boolean;
}

/**
 * Sets the labels of the request in metrics and logs. Only names from the catalog become labels, so
 * that clients cannot create an unbounded number of them.
 */
export function describeRequest(
  { exchange, record }: { readonly exchange: Exchange; readonly record: RequestRecord },
  { info, query, resource, isRemote }: ParsedRequest,
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

/** Whether a PATCH is a server-side apply, which has a verb of its own in metrics. */
function applies(exchange: Exchange): boolean {
  return exchange.header("content-type")?.startsWith("application/apply-patch+") ?? false;
}

const removedIn = /unavailable in v(\d+\.\d+)\+/;

function scopeOf({ name, verb, namespace }: RequestInfo): RequestRecord["scope"] {
  if (name !== "" || verb === "create") return "resource";
  return namespace !== "" ? "namespace" : "cluster";
}

/** Whether the verb in metrics is "connect": all streams but log. */
function connects(resource: Resource, subresource: string): boolean {
  return subresource !== "log" && connectMethods(resource, subresource) !== undefined;
}

/** Health checks are frequent, so their path is a label; other documents have none. */
function healthPathOf(path: string): string {
  return ["/livez", "/readyz", "/healthz"].includes(path) ? path : "";
}

const remoteStreams = new Set(["attach", "exec", "log", "portforward", "proxy"]);

/** Whether a proxied request may be long-running, by its name or protocol upgrade. */
function mayLastRemotely({ upgrade }: Exchange, { verb, subresource }: RequestInfo): boolean {
  return upgrade !== undefined || verb === "proxy" || remoteStreams.has(subresource);
}

/** Whether the request has no deadline: watches and streams. */
function isLongRunning({ verb, subresource }: RequestInfo, resource?: Resource): boolean {
  if (verb === "watch") return true;
  if (resource === undefined || subresource === "") return false;
  return connectMethods(resource, subresource) !== undefined;
}
