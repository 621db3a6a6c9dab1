import type { Query } from "#request";

/** Where a stream of this server leads: to the kubelet of a node, or to whatever a pod runs. */
export interface Destination {
  readonly scheme: "http" | "https";
  /** An address or a name, without brackets. */
  readonly host: string;
  /** IP addresses that `host` was resolved to and that were checked; absent = to be resolved. */
  readonly addresses?: readonly string[];
  /** "" for the usual one of the scheme. */
  readonly port: string;
  /** As it is written in a request, with its escapes. */
  readonly path: string;
  /** Without the question mark. */
  readonly query: string;
  /** The kubelet is asked for its certificate, other backends are believed. */
  readonly peer: "kubelet" | "kubelet, unchecked" | "backend";
  /** `log`: a text; `upgrade`: makes sense on an upgraded connection only; `proxy`: anything. */
  readonly use: "log" | "upgrade" | "proxy";
}

/** What is asked of a stream beside its object. */
export interface ConnectRequest {
  readonly query: Query;
  /** The query as it was sent, without the question mark. */
  readonly rawQuery: string;
  /** What follows the subresource in the path, with its escapes: "" or beginning with a slash. */
  readonly rawPath: string;
}

/** `a=1&b=2`, sorted by name as Go writes it. */
export function queryText(pairs: readonly (readonly [string, string])[]): string {
  const sorted = [...pairs].sort(([left], [right]) => (left < right ? -1 : left > right ? 1 : 0));
  const copies = sorted.map(([name, value]): [string, string] => [name, value]);
  return new URLSearchParams(copies).toString();
}

interface SplitName {
  readonly scheme: "" | "http" | "https";
  readonly name: string;
  readonly port: string;
}

/** `name`, `name:port` or `scheme:name:port`; undefined for anything else. */
export function splitName(text: string): SplitName | undefined {
  const parts = text.split(":");
  if (parts.length > 3) return undefined;
  const [scheme = "", name = "", port = ""] = parts.length === 3 ? parts : ["", parts[0], parts[1]];
  if (name === "" || (scheme !== "" && scheme !== "http" && scheme !== "https")) return undefined;
  return { scheme, name, port };
}
