import type { IncomingMessage } from "node:http";
import type { AccessAttributes } from "#client";

/** What a request to a kubelet's server needs: a verb on a subresource of the node. */
export function attributesOf(
  { method, url = "" }: IncomingMessage,
  node: string,
): AccessAttributes {
  const verb = method === "GET" || method === "HEAD" ? "get" : "create";
  const [, first = ""] = url.split(/[/?]/);
  const subresource = first === "stats" || first === "metrics" ? first : "proxy";
  return {
    resourceAttributes: { version: "v1", resource: "nodes", name: node, verb, subresource },
  };
}
