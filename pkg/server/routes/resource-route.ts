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

/** What a request asks of the registry, once its path has been found in the catalog. */
export interface Route {
  readonly resource: Resource;
  readonly verb: Verb;
  /** Name in the path; "" for collections, also where a field selector names one object. */
  readonly name: string;
  readonly namespace: string;
  readonly subresource: string;
  /** Written as `/watch/…`, the old spelling. */
  readonly oldWatch: boolean;
}

/**
 * Finds the route of a resource request.
 * @throws StatusError 404 when there is no such path, 405 when the path has no such method
 */
export function findRoute(resource: Resource, method: string, info: RequestInfo): Route {
  const place =
    resource.kind.custom === undefined
      ? placeOf(resource, info)
      : customPlace(resource, method, placeOf(resource, info));
  const allowed = methodsOf(resource, place);
  if (allowed.size === 0) throw genericFailure(404);
  const verb = allowed.get(method);
  if (verb === undefined) throw genericFailure(405);
  const { name, namespace, subresource, oldWatch } = place;
  if (name !== "") checkName(name);
  const asked = verb === "list" && info.verb === "watch" ? "watch" : verb;
  return { resource, verb: asked, name, namespace, subresource, oldWatch };
}

/** A subresource that leads somewhere else. */
export interface StreamRoute {
  readonly resource: Resource;
  readonly namespace: string;
  /** As in the path: a proxy's may have a scheme and a port beside the name. */
  readonly name: string;
  readonly subresource: string;
}

/**
 * Finds the stream that a request asks for; undefined when it asks for something else.
 * @throws StatusError 405 when the stream has no such method
 */
export function findStream(
  resource: Resource,
  method: string,
  info: RequestInfo,
): StreamRoute | undefined {
  const { name, namespace, subresource } = info;
  if (subresource === "" || name === "") return undefined;
  const methods = connectMethods(resource, subresource);
  const fits = (resource.kind.scope === "Namespaced") === (namespace !== "");
  const { verb } = info;
  if (methods === undefined || !fits || verb === "watch" || verb === "proxy") return undefined;
  if (subresource !== "proxy" && info.rest.length > 0) return undefined;
  if (!methods.includes(method)) throw genericFailure(405);
  checkName(name);
  return { resource, namespace, name, subresource };
}

/** Names that could not be a part of a key in the store. */
function checkName(name: string): void {
  const faults = isPathSegmentName(name);
  if (faults.length === 0) return;
  throw badRequest(`Name parameter invalid: ${goQuote(name)}: ${faults.join(";")}`);
}

interface Place {
  readonly name: string;
  readonly namespace: string;
  readonly subresource: string;
  readonly oldWatch: boolean;
  /** The path fits the scope of the kind. */
  readonly fits: boolean;
  /** A namespaced kind addressed without a namespace: all of them. */
  readonly everywhere: boolean;
}

function placeOf({ kind, plural }: Resource, info: RequestInfo): Place {
  const parts = pathParts(info.path);
  const afterVersion = parts.slice(info.apiPrefix === "apis" ? 3 : 2);
  const oldWatch = afterVersion[0] === "watch" && afterVersion.length > 1;
  const rest = oldWatch ? afterVersion.slice(1) : afterVersion;
  const scoped = rest[0] === "namespaces" && rest.length > 2 && plural !== "namespaces";
  const own = scoped ? rest.slice(2) : rest;
  const namespaced = kind.scope === "Namespaced";
  const [resource, name = "", subresource = ""] = own;
  return {
    name,
    namespace: namespaced ? info.namespace : "",
    subresource,
    oldWatch,
    fits:
      resource === plural &&
      own.length <= 3 &&
      !own.slice(1).includes("") &&
      (namespaced ? scoped || own.length === 1 : !scoped),
    everywhere: namespaced && info.namespace === "",
  };
}

/**
 * Kubernetes serves custom resources by verbs and names rather than by paths, so that some paths
 * that it does not have are answered otherwise: a POST to an object creates one.
 * @throws StatusError
 */
function customPlace(resource: Resource, method: string, place: Place): Place {
  const { name, subresource } = place;
  if (subresource !== "") {
    const found = resource.kind.subresources.find((each) => each.name === subresource);
    if (found === undefined) throw notFound(resource, name);
    const verb = subresourceMethods.find(([each]) => each === method)?.[1];
    if (verb !== undefined && !found.verbs.some((each) => each === verb)) {
      throw methodNotSupported(resource, verb);
    }
    return place;
  }
  if (method === "POST") return { ...place, name: "" };
  if (name === "" && (method === "PUT" || method === "PATCH")) {
    throw badRequest("name must be provided");
  }
  return place;
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

/** The methods of a path with the verb each stands for; empty = there is no such path. */
function methodsOf({ kind }: Resource, place: Place): ReadonlyMap<string, Verb> {
  if (!place.fits) return none;
  if (place.oldWatch) return oldWatchMethods(kind.verbs, place);
  if (place.subresource !== "") {
    const found = kind.subresources.find(({ name }) => name === place.subresource);
    if (found === undefined) return none;
    return new Map(subresourceMethods.filter(([, verb]) => found.verbs.includes(verb)));
  }
  const { ofObjects, ofCollections, everywhere } = methodsOfKind(kind);
  if (place.name !== "") return place.everywhere ? none : ofObjects;
  return place.everywhere ? everywhere : ofCollections;
}

const methodsOfKind = memoize(({ verbs: all }: Kind) => {
  const verbs = new Set<Verb>(all);
  const methods = collectionMethods.filter(([, verb]) => verbs.has(verb));
  return {
    ofObjects: new Map<string, Verb>(objectMethods.filter(([, verb]) => verbs.has(verb))),
    ofCollections: new Map<string, Verb>(methods),
    everywhere: new Map<string, Verb>(methods.filter(([, verb]) => verb === "list")),
  };
});

function oldWatchMethods(verbs: readonly Verb[], place: Place): ReadonlyMap<string, Verb> {
  if (!verbs.includes("watch") || place.subresource !== "") return none;
  return new Map([["GET", "list"]]);
}
