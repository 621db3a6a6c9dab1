import type { IncomingMessage } from "node:http";
import type { AccessAttributes } from "#client";

/**
 * Subresources of the node by the first part of a path; access to one of them suffices. Finer ones come
 * before `proxy`, as under a kubelet's feature gate KubeletFineGrainedAuthz.
 */
const subresourcesByPath: ReadonlyMap<string, readonly string[]> = new Map([
  ["pods", ["pods", "proxy"]],
  ["runningpods", ["pods", "proxy"]],
  ["healthz", ["healthz", "proxy"]],
  ["configz", ["configz", "proxy"]],
  ["stats", ["stats"]],
  ["metrics", ["metrics"]],
  ["logs", ["log"]],
  ["checkpoint", ["checkpoint"]],
  ["statusz", ["statusz"]],
  ["flagz", ["configz"]],
]);

/** What a request to a kubelet's server needs one of: a verb on a subresource of the node. */
export function attributesOf(
  { method, url = "" }: Pick<IncomingMessage, "method" | "url">,
  node: string,
): readonly AccessAttributes[] {
  const verb = method === "GET" || method === "HEAD" ? "get" : "create";
  const [, first = ""] = url.split(/[/?]/);
  const subresources = subresourcesByPath.get(first) ?? ["proxy"];
  const common = { version: "v1", resource: "nodes", name: node, verb };
  return subresources.map((subresource) => ({ resourceAttributes: { ...common, subresource } }));
}
