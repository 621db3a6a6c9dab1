import { Router, type RouterContext, type RouterMiddleware } from "@koa/router";
import { type Catalog, genericFailure, type Resource } from "#meta";
import type { RequestInfo } from "#request";
import { runStream, type StreamParts } from "../proxy/streams.ts";
import type { StageContext } from "../stages/middleware-chain.ts";
import type { RequestState } from "../stages/state.ts";
import type { VerbParts } from "../verbs/verb-request.ts";
import { runVerb } from "../verbs/verbs.ts";
import { findRoute, findStream } from "./resource-route.ts";

/** Paths of the core group's subresources that connect to a kubelet, pod or service. */
const connections =
  /^\/api\/[^/]+\/(?:namespaces\/[^/]+\/)?[^/]+\/[^/]+\/(?:attach|exec|log|portforward|proxy)(?:\/|$)/;

const resources = ["/api/:version/*path", "/apis/:group/:version/*path"];

/**
 * Routes of the API. A route only selects the handler, which uses the authorized `state.info` instead of
 * parsing the path again, and calls `next` for resources that are not served.
 */
export function apiRoutes(parts: VerbParts & StreamParts): Router<RequestState> {
  const router = new Router<RequestState>({ sensitive: true, strict: true });
  router.all(connections, ({ state }, next) => {
    const { exchange, info, query, resource, user } = state;
    if (resource === undefined || !isServed(parts.catalog, state)) return next();
    const stream = findStream(resource, exchange.method, info);
    if (stream === undefined) return next();
    return runStream(parts, { exchange, info, query, user, stream });
  });
  router.all(resources, ({ state }, next) => {
    const { exchange, info, query, resource, user, trail: notes } = state;
    const { initialized, watchFilter } = state;
    if (!isServed(parts.catalog, state)) return next();
    if (resource === undefined) throw genericFailure(404);
    const route = findRoute(resource, exchange.method, info);
    const watching = { initialized, watchFilter };
    return runVerb(parts, { exchange, info, query, user, route, notes, ...watching });
  });
  return router;
}

/**
 * Runs the handlers of the routes that match the authorized path, in order. `router.routes()` does the
 * same, but the context properties and the middleware list that it creates per request cost more CPU
 * time than the budget of a GET allows (docs/decisions/002-koa.md).
 */
export function runRoutes(
  router: Router<RequestState>,
  context: StageContext<RequestState>,
  next: () => Promise<void>,
): Promise<void> {
  // Every route accepts all methods, including those that the router does not know.
  const { pathAndMethod: layers } = router.match(context.state.info.path, "GET");
  const routed = context as RouterContext<RequestState>;
  const run = (index: number): Promise<void> => {
    const [handler] = layers[index]?.stack ?? [];
    if (handler === undefined) return next();
    return (handler as RouterMiddleware<RequestState>)(routed, () =>
      run(index + 1),
    ) as Promise<void>;
  };
  return run(0);
}

interface ResolvedPath {
  readonly info: RequestInfo;
  readonly resource: Resource | undefined;
}

/**
 * Whether a path is handled as an API resource: its group has built-in resources, or it names a custom
 * resource and fits its scope.
 */
export function isServed(catalog: Catalog, { info, resource }: ResolvedPath): boolean {
  const { isResource, path, group, namespace, verb } = info;
  if (!isResource || path.startsWith("//")) return false;
  if (resource?.kind.custom === undefined) {
    // Built-in resources come first in their group.
    const [first] = catalog.inGroup(group);
    return group === "" || (first !== undefined && first.kind.custom === undefined);
  }
  const allowsAllNamespaces = verb === "list" || verb === "watch";
  const isNamespaced = resource.kind.scope === "Namespaced";
  return isNamespaced ? namespace !== "" || allowsAllNamespaces : namespace === "";
}
