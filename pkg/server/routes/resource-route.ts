import { memoize } from "#base";
import {
  badRequest,
  genericFailure,
  goQuote,
  isPathSegmentName,
  type Kind,
  methodNotSupported,
  notFound,
  type Resource,
  type Verb,
} from "#meta";
import { connectMethods } from "#registry";
import { pathParts, type RequestInfo } from "#request";

/** Resource, verb and names of a request whose path was found in the catalog. */
export interface Route {
  readonly resource: Resource;
  readonly verb: Verb;
  /** Name in the path; "" for collections, even if a field selector selects a single name. */
  readonly name: string;
  readonly namespace: string;
  readonly subresource: string;
  /** Whether the path has the deprecated prefix `/watch/`. */
  readonly deprecatedWatch: boolean;
}

/**
 * Finds the route of a resource request.
 * @throws StatusError 404 if there is no such path, 405 if the path does not support the method
 */
export function findRoute(resource: Resource, method: string, info: RequestInfo): Route {
  const parsed = parsePath(resource, info);
  const path =
    resource.kind.custom === undefined ? parsed : customResourcePath(resource, method, parsed);
  const allowed = methodsOf(resource, path);
  if (allowed.size === 0) throw genericFailure(404);
  const verb = allowed.get(method);
  if (verb === undefined) {
    // apiextensions-apiserver names the verb, which methods such as OPTIONS do not have.
    throw resource.kind.custom === undefined
      ? genericFailure(405)
      : methodNotSupported(resource, info.verb);
  }
  const { name, namespace, subresource, deprecatedWatch } = path;
  if (name !== "") checkName(name);
  const requestVerb = verb === "list" && info.verb === "watch" ? "watch" : verb;
  return { resource, verb: requestVerb, name, namespace, subresource, deprecatedWatch };
}

/** A subresource that connects to a kubelet, pod or service. */
export interface StreamRoute {
  readonly resource: Resource;
  readonly namespace: string;
  /** Name in the path, which for a proxy may include scheme and port. */
  readonly name: string;
  readonly subresource: string;
}

/**
 * Finds the route of a connect subresource; undefined for other paths.
 * @throws StatusError 405 if the subresource does not support the method
 */
export function findStream(
  resource: Resource,
  method: string,
  info: RequestInfo,
): StreamRoute | undefined {
  const { name, namespace, subresource } = info;
  if (subresource === "" || name === "") return undefined;
  const methods = connectMethods(resource, subresource);
  const matchesScope = (resource.kind.scope === "Namespaced") === (namespace !== "");
  const { verb } = info;
  if (methods === undefined || !matchesScope || verb === "watch" || verb === "proxy")
    return undefined;
  if (subresource !== "proxy" && info.rest.length > 0) return undefined;
  if (!methods.includes(method)) throw genericFailure(405);
  checkName(name);
  return { resource, namespace, name, subresource };
}

/** @throws StatusError 400 if the name cannot be a path segment */
function checkName(name: string): void {
  const faults = isPathSegmentName(name);
  if (faults.length === 0) return;
  throw badRequest(`Name parameter invalid: ${goQuote(name)}: ${faults.join(";")}`);
}

interface ResourcePath {
  readonly name: string;
  readonly namespace: string;
  readonly subresource: string;
  readonly deprecatedWatch: boolean;
  /** Whether the path is well-formed and matches the scope of the kind. */
  readonly valid: boolean;
  /** Whether the kind is namespaced and the path has no namespace. */
  readonly allNamespaces: boolean;
}

function parsePath({ kind, plural }: Resource, info: RequestInfo): ResourcePath {
  const parts = pathParts(info.path);
  const afterVersion = parts.slice(info.apiPrefix === "apis" ? 3 : 2);
  const deprecatedWatch = afterVersion[0] === "watch" && afterVersion.length > 1;
  const rest = deprecatedWatch ? afterVersion.slice(1) : afterVersion;
  const hasNamespace = rest[0] === "namespaces" && rest.length > 2 && plural !== "namespaces";
  const resourceParts = hasNamespace ? rest.slice(2) : rest;
  const namespaced = kind.scope === "Namespaced";
  const [resource, name = "", subresource = ""] = resourceParts;
  return {
    name,
    namespace: namespaced ? info.namespace : "",
    subresource,
    deprecatedWatch,
    valid:
      resource === plural &&
      resourceParts.length <= 3 &&
      !resourceParts.slice(1).includes("") &&
      (namespaced ? hasNamespace || resourceParts.length === 1 : !hasNamespace),
    allNamespaces: namespaced && info.namespace === "",
  };
}

/**
 * Adjusts a path as apiextensions-apiserver does, which routes custom resources by verb instead of path:
 * a POST to the path of an object creates one.
 * @throws StatusError 400, 404 or 405 for unsupported combinations of path and method
 */
function customResourcePath(resource: Resource, method: string, path: ResourcePath): ResourcePath {
  const { name, subresource } = path;
  if (subresource !== "") {
    const declared = resource.kind.subresources.find((candidate) => candidate.name === subresource);
    if (declared === undefined) throw notFound(resource, name);
    const verb = subresourceMethods.find(([candidate]) => candidate === method)?.[1];
    if (verb !== undefined && !declared.verbs.includes(verb)) {
      throw methodNotSupported(resource, verb);
    }
    return path;
  }
  if (method === "POST") return { ...path, name: "" };
  if (name === "" && (method === "PUT" || method === "PATCH")) {
    throw badRequest("name must be provided");
  }
  return path;
}

const none: ReadonlyMap<string, Verb> = new Map();
const collectionMethods = [
  ["GET", "list"],
  ["POST", "create"],
  ["DELETE", "deletecollection"],
] as const;
const objectMethods = [
  ["GET", "get"],
  ["PUT", "update"],
  ["PATCH", "patch"],
  ["DELETE", "delete"],
] as const;
const subresourceMethods = [...objectMethods, ["POST", "create"]] as const;

/** The supported methods of a path with the verb of each; empty = there is no such path. */
function methodsOf({ kind }: Resource, path: ResourcePath): ReadonlyMap<string, Verb> {
  if (!path.valid) return none;
  if (path.deprecatedWatch) return deprecatedWatchMethods(kind.verbs, path);
  if (path.subresource !== "") {
    const declared = kind.subresources.find(({ name }) => name === path.subresource);
    if (declared === undefined) return none;
    return new Map(subresourceMethods.filter(([, verb]) => declared.verbs.includes(verb)));
  }
  const { ofObject, ofCollection, ofAllNamespaces } = methodsOfKind(kind);
  if (path.name !== "") return path.allNamespaces ? none : ofObject;
  return path.allNamespaces ? ofAllNamespaces : ofCollection;
}

const methodsOfKind = memoize((kind: Kind) => {
  const verbs = new Set<Verb>(kind.verbs);
  const methods = collectionMethods.filter(([, verb]) => verbs.has(verb));
  return {
    ofObject: new Map<string, Verb>(objectMethods.filter(([, verb]) => verbs.has(verb))),
    ofCollection: new Map<string, Verb>(methods),
    ofAllNamespaces: new Map<string, Verb>(methods.filter(([, verb]) => verb === "list")),
  };
});

function deprecatedWatchMethods(
  verbs: readonly Verb[],
  path: ResourcePath,
): ReadonlyMap<string, Verb> {
  if (!verbs.includes("watch") || path.subresource !== "") return none;
  return new Map([["GET", "list"]]);
}
