import type { Query } from "#request";

/** The backend of a stream or proxy request: the kubelet of a node, a pod or a service endpoint. */
export interface Destination {
  readonly scheme: "http" | "https";
  /** An address or a name, without brackets. */
  readonly host: string;
  /** Checked IP addresses of `host`, to which the connection is limited; absent = not resolved yet. */
  readonly addresses?: readonly string[];
  /** "" for the default of the scheme. */
  readonly port: string;
  /** Percent-encoded. */
  readonly path: string;
  /** Without the question mark. */
  readonly query: string;
  /** Only the certificate of a kubelet is verified, unless the client opts out. */
  readonly peer: "kubelet" | "kubelet, unchecked" | "backend";
  /** `log`: a text; `upgrade`: requires an upgraded connection; `proxy`: any HTTP request. */
  readonly use: "log" | "upgrade" | "proxy";
}

/** Query and path of a connect request. */
export interface ConnectRequest {
  readonly query: Query;
  /** The query as it was sent, without the question mark. */
  readonly rawQuery: string;
  /** The percent-encoded path after the subresource: "" or beginning with a slash. */
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
