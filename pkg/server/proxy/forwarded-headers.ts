import { withoutBearerProtocol } from "#authn";
import { connectionOptions, hopByHopHeaders } from "#base";
import type { Domain } from "#meta";
import type { Exchange, ResponseHeaders } from "../transport/exchange.ts";
import { collectHeaders } from "./headers.ts";

type Headers = Record<string, string | string[]>;

/** Credentials for this server, and headers that a front proxy sets. */
const droppedPrefixes = [":", "impersonate-", "x-remote-"];

/**
 * Headers of a request to a kubelet, pod or service, with the Host of the client: without credentials and
 * hop-by-hop headers, as Go's ReverseProxy forwards them.
 */
export function forwardedHeaders(exchange: Exchange, domain: Domain): Headers {
  const named = connectionOptions(exchange.header("connection"));
  const isDropped = (name: string) =>
    name === "authorization" ||
    hopByHopHeaders.has(name) ||
    named.has(name) ||
    droppedPrefixes.some((start) => name.startsWith(start));
  const headers = collectHeaders(exchange.rawHeaders ?? [], isDropped);
  const protocols = headers["sec-websocket-protocol"];
  if (protocols !== undefined) {
    headers["sec-websocket-protocol"] = withoutBearerProtocol([protocols].flat().join(","), domain);
  }
  if (exchange.upgrade !== undefined) {
    headers["connection"] = "Upgrade";
    headers["upgrade"] = exchange.header("upgrade") ?? "";
  } else if (/\btrailers\b/i.test(exchange.header("te") ?? "")) headers["te"] = "trailers";
  const host = exchange.header("host") ?? exchange.header(":authority");
  const clients = forwardedFor(headers["x-forwarded-for"], exchange);
  return {
    ...headers,
    ...(host === undefined ? {} : { host }),
    ...(clients === undefined ? {} : { "x-forwarded-for": clients }),
  };
}

/** The header X-Forwarded-For with the address of the client appended. */
export function forwardedFor(
  prior: string | readonly string[] | undefined,
  { remoteAddress }: Exchange,
): string | undefined {
  const clients = [prior ?? [], remoteAddress ?? []].flat();
  return clients.length === 0 ? undefined : clients.join(", ");
}

/** Headers that this server sets itself: a backend's value is added to them. */
const addedHeaders = ["cache-control", "audit-id"];

/**
 * Headers of a backend's response without hop-by-hop headers. The backend's values of headers that this
 * server sets are added to its own, as kube-apiserver does.
 */
export function responseHeaders(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
  { auditId }: Exchange,
): ResponseHeaders {
  const named = connectionOptions(String(headers["connection"] ?? ""));
  const kept: Record<string, string | readonly string[]> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || hopByHopHeaders.has(name) || named.has(name)) continue;
    const own = name === "audit-id" ? auditId : "no-cache, private";
    kept[name] = addedHeaders.includes(name) ? [own, ...[value].flat()] : value;
  }
  return kept;
}
