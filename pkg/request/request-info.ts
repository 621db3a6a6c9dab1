import { Query, unescapePercent } from "./query.ts";
import type { RequestInfo } from "./types.ts";

/** Path, decoded, and query of a request target. */
export interface RequestTarget {
  readonly path: string;
  readonly query: Query;
}

/** Parses a request target (`/api/v1/pods?limit=1`); undefined if it is malformed. */
export function parseTarget(url: string): RequestTarget | undefined {
  const relative = url.startsWith("/") ? url : url.replace(/^https?:\/\/[^/?#]*/i, "");
  const question = relative.indexOf("?");
  const rawPath = question < 0 ? relative : relative.slice(0, question);
  const path = unescapePercent(rawPath === "" ? "/" : rawPath);
  if (path === undefined || !path.startsWith("/")) return undefined;
  return { path, query: Query.parse(question < 0 ? "" : relative.slice(question + 1)) };
}

const verbOfMethod: ReadonlyMap<string, string> = new Map([
  ["POST", "create"],
  ["GET", "get"],
  ["HEAD", "get"],
  ["PUT", "update"],
  ["PATCH", "patch"],
  ["DELETE", "delete"],
]);

/** Subresources of Namespaces; any other third segment is a resource in the namespace. */
const namespaceSubresources: ReadonlySet<string> = new Set(["status", "finalize"]);
const specialVerbs: ReadonlySet<string> = new Set(["proxy", "watch"]);

/**
 * Parses a request into RequestInfo as kube-apiserver does. Leading and trailing slashes are ignored,
 * but not empty segments: `/api/v1/namespaces//configmaps` is all namespaces. `/api/v1/watch/…` is the
 * deprecated form of a watch.
 */
export function parseRequestInfo(method: string, target: RequestTarget): RequestInfo {
  const { path } = target;
  const parts = pathParts(path);
  const apiPrefix = parts[0] ?? "";
  const grouped = apiPrefix === "apis";
  if ((apiPrefix !== "api" && !grouped) || parts.length < (grouped ? 4 : 3)) {
    return nonResourceRequestInfo(method.toLowerCase(), path);
  }
  const group = grouped ? parts[1]! : "";
  const version = parts[grouped ? 2 : 1]!;
  let at = grouped ? 3 : 2;
  let verb = verbOfMethod.get(method) ?? "";
  if (specialVerbs.has(parts[at]!) && parts.length > at + 1) {
    verb = parts[at]!;
    at += 1;
  }
  let namespace = "";
  if (parts[at] === "namespaces" && parts.length > at + 1) {
    namespace = parts[at + 1]!;
    if (parts.length > at + 2 && !namespaceSubresources.has(parts[at + 2]!)) at += 2;
  }
  const info: RequestInfo = {
    isResource: true,
    path,
    verb,
    apiPrefix,
    group,
    version,
    namespace,
    resource: parts[at] ?? "",
    subresource: parts[at + 2] ?? "",
    name: parts[at + 1] ?? "",
    rest: parts.slice(at + 3),
  };
  return info.name === "" ? collectionInfo(info, target.query) : info;
}

/** True for `/api/v1/watch` and the like: a special verb that no resource follows. */
export function lacksResource({ isResource, apiPrefix, path, resource }: RequestInfo): boolean {
  if (!isResource || !specialVerbs.has(resource)) return false;
  return pathParts(path).length === (apiPrefix === "apis" ? 4 : 3);
}

/** The segments of a path without leading and trailing slashes. */
export function pathParts(path: string): string[] {
  let [start, end] = [0, path.length];
  while (start < end && path.charCodeAt(start) === slash) start++;
  while (end > start && path.charCodeAt(end - 1) === slash) end--;
  return path.slice(start, end).split("/");
}

const slash = 0x2f;

type ResourceAttributes = Pick<RequestInfo, "verb"> &
  Partial<
    Pick<RequestInfo, "group" | "version" | "namespace" | "resource" | "subresource" | "name">
  >;

/** A verb on a resource without an HTTP request of its own; attributes that are absent are empty. */
export function resourceRequestInfo(attributes: ResourceAttributes): RequestInfo {
  const { verb, group = "", version = "", namespace = "" } = attributes;
  const { resource = "", subresource = "", name = "" } = attributes;
  return {
    isResource: true,
    path: "",
    verb,
    apiPrefix: group === "" ? "api" : "apis",
    group,
    version,
    namespace,
    resource,
    subresource,
    name,
    rest: [],
  };
}

/** RequestInfo of a non-resource request. */
export function nonResourceRequestInfo(verb: string, path: string): RequestInfo {
  return {
    isResource: false,
    path,
    verb,
    apiPrefix: "",
    group: "",
    version: "",
    namespace: "",
    resource: "",
    subresource: "",
    name: "",
    rest: [],
  };
}

/**
 * A list or watch with a field selector on metadata.name has that name, for rules with resourceNames.
 */
function collectionInfo(info: RequestInfo, query: Query): RequestInfo {
  switch (info.verb) {
    case "get": {
      const verb = query.flag("watch") === true ? "watch" : "list";
      return { ...info, verb, name: selectedName(query) };
    }
    case "watch":
      return { ...info, name: selectedName(query) };
    case "delete":
      return { ...info, verb: "deletecollection" };
    default:
      return info;
  }
}

/** The name in a field selector with `=` or `==`; else "". */
function selectedName(query: Query): string {
  for (const term of (query.get("fieldSelector") ?? "").split(/(?<!\\),/)) {
    const [, value] = /^\s*metadata\.name={1,2}((?:[^\\=!]|\\.)*)$/.exec(term) ?? [];
    if (value === undefined) continue;
    const name = value.replace(/\\(.)/g, "$1");
    return name === "." || name === ".." || /[/%]/.test(name) ? "" : name;
  }
  return "";
}
