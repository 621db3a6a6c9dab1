import { connectionOptions, hopByHopHeaders } from "#base";
import type { User } from "#request";
import type { BackendRequest } from "../contract.ts";

type Headers = Record<string, string | string[]>;

/** Credentials for this server, and headers that the transport sets. */
const reservedHeaders = new Set(["authorization", "host", "expect", "http2-settings"]);
const reservedPrefixes = [":", "x-remote-", "impersonate-"];

/**
 * Headers of a request to a backend: those of the client without credentials and hop-by-hop headers,
 * and the user in `X-Remote-*`. Underscores in names are treated as hyphens, as some servers do.
 */
export function requestHeaders({ headers, user }: BackendRequest): Headers {
  const named = connectionOptions(headers["connection"]);
  const sent: Headers = {};
  for (const [name, value] of Object.entries(headers)) {
    const plain = name.toLowerCase().replaceAll("_", "-");
    if (hopByHopHeaders.has(plain) || reservedHeaders.has(plain) || named.has(name.toLowerCase()))
      continue;
    if (reservedPrefixes.some((prefix) => plain.startsWith(prefix))) continue;
    sent[name.toLowerCase()] = typeof value === "string" ? value : [...value];
  }
  if (/\btrailers\b/i.test([headers["te"] ?? ""].flat().join())) sent["te"] = "trailers";
  return { ...sent, ...userHeaders(user) };
}

/** Headers of a backend's response without pseudo-headers and hop-by-hop headers. */
export function responseHeaders(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
): Headers {
  const named = connectionOptions(headers["connection"]);
  const kept: Headers = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || name.startsWith(":")) continue;
    if (hopByHopHeaders.has(name) || named.has(name)) continue;
    kept[name] = typeof value === "string" ? value : [...value];
  }
  return kept;
}

function userHeaders({ name, uid, groups, extra }: User): Headers {
  const headers: Headers = { "x-remote-user": latin1(name) };
  if (uid !== "") headers["x-remote-uid"] = latin1(uid);
  if (groups.length > 0) headers["x-remote-group"] = groups.map(latin1);
  for (const [key, values] of extra) {
    headers[`x-remote-extra-${encodeExtraKey(key)}`] = values.map(latin1);
  }
  return headers;
}

/** Node writes header values as Latin-1; Kubernetes expects UTF-8. */
function latin1(text: string): string {
  return Buffer.from(text, "utf8").toString("latin1");
}

/** Lower-cases the key and percent-encodes bytes that are invalid in a header name. */
function encodeExtraKey(key: string): string {
  return Buffer.from(key.toLowerCase(), "utf8")
    .toString("latin1")
    .replace(/[^a-z0-9!#$&'*+.^_`|~-]/g, (char) => {
      const hex = char.charCodeAt(0).toString(16).padStart(2, "0");
      return `%${hex.toUpperCase()}`;
    });
}
