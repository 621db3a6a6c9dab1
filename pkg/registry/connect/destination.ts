import type { NamespacedName, Query } from "#request";

/** The backend of a stream or proxy request: the kubelet of a node, a pod or a service endpoint. */
export interface Destination {
  readonly scheme: "http" | "https";
  /** An address or a name, without brackets. */
  readonly host: string;
  /** Checked IP addresses of `host`, to which the connection is limited; absent if unresolved. */
  readonly addresses?: readonly string[];
  /** The pod that has the address. */
  readonly pod?: NamespacedName;
  /** The node whose kubelet it is. */
  readonly kubeletOf?: string;
  /** "" for the default of the scheme. */
  readonly port: string;
  /** Percent-encoded. */
  readonly path: string;
  /** Without the question mark. */
  readonly query: string;
  /** Which server certificate to verify: only `kubelet`; `kubelet, unchecked` is the client's opt-out. */
  readonly peer: "kubelet" | "kubelet, unchecked" | "backend";
  /** `log`: a text response; `upgrade`: requires an HTTP upgrade; `proxy`: any HTTP request. */
  readonly use: "log" | "upgrade" | "proxy";
}

/** Query and path of a connect request. */
export interface ConnectRequest {
  readonly query: Query;
  /** The query as it was sent, without the question mark. */
  readonly rawQuery: string;
  /** The decoded path after the subresource: "" or with a leading slash. */
  readonly path: string;
}

/** `a=1&b=2`, sorted by name like Go's url.Values.Encode. */
export function queryText(pairs: readonly (readonly [string, string])[]): string {
  const query = new URLSearchParams(pairs.map(([name, value]): [string, string] => [name, value]));
  query.sort();
  return query.toString();
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
