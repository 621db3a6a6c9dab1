import { posix } from "node:path";
import { decodedPath, formatUrl, parseUrl, type UrlParts } from "#meta";
import { escapePath } from "#request";

/** How URLs in a backend's response are changed so that they lead through the proxy. */
export interface UrlRewriting {
  /** Scheme and host of rewritten URLs; "" = they are relative to the proxy's host. */
  readonly scheme: string;
  readonly host: string;
  /** Decoded path of the proxy that corresponds to the root of the backend. */
  readonly prefix: string;
  /** Host and port of the backend. */
  readonly backend: string;
  /** Host header of the request. */
  readonly requestHost: string;
}

/**
 * The URL through the proxy if it has an absolute path on the backend, as apimachinery's proxy transport
 * rewrites it; other URLs are only normalized. @throws UrlFault
 */
export function rewriteUrl(text: string, rewriting: UrlRewriting): string {
  const url = parseUrl(text);
  const { scheme, host, prefix, backend, requestHost } = rewriting;
  const isElsewhere = url.host !== "" && url.host !== backend && url.host !== requestHost;
  if (isElsewhere || !url.path.startsWith("/")) return formatUrl(url);
  const keepsHost = url.host === requestHost && scheme === "" && host === "";
  const moved: UrlParts = keepsHost ? url : { ...url, scheme, host };
  const path = decodedPath(url);
  if (path.startsWith(prefix)) return formatUrl(moved);
  return formatUrl({ ...moved, path: escapePath(posix.join(prefix, path)) });
}
