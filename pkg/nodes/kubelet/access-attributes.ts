import type { IncomingMessage } from "node:http";
import type { AccessAttributes } from "#client";

/**
 * Node subresources by the first path segment; access to any of them suffices. Fine-grained ones precede
 * `proxy` (feature gate KubeletFineGrainedAuthz).
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

/** Authorization attributes of a kubelet request, of which one must be allowed. */
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
