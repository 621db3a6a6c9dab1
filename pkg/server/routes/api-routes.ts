import { Router, type RouterContext, type RouterMiddleware } from "@koa/router";
import { type Catalog, genericFailure, type Resource } from "#meta";
import type { RequestInfo } from "#request";
import { runStream, type StreamParts } from "../proxy/streams.ts";
import type { StageContext } from "../stages/middleware-chain.ts";
import type { RequestState } from "../stages/state.ts";
import { runVerb, type VerbParts } from "../verbs/verbs.ts";
import { findRoute, findStream } from "./resource-route.ts";

/** Subresources of the core group that are connections to a kubelet or to a workload. */
const connections =
  /^\/api\/[^/]+\/(?:namespaces\/[^/]+\/)?[^/]+\/[^/]+\/(?:attach|exec|log|portforward|proxy)(?:\/|$)/;

const resources = ["/api/:version/*path", "/apis/:group/:version/*path"];

/**
 * Routes of the API. They decide which handler runs; what the path means is in `state.info`, which
 * authorization has seen. A handler calls `next` for what is not served.
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
 * Runs the handlers of the routes that match, in their order. `router.routes()` does the same, but
 * the context members and the middleware list that it makes for each request cost more CPU than the
 * budget of a GET allows (docs/decisions/002-koa.md).
 */
export function runRoutes(
  router: Router<RequestState>,
  context: StageContext<RequestState>,
  next: () => Promise<void>,
): Promise<void> {
  const { info, exchange } = context.state;
  const { pathAndMethod: layers } = router.match(info.path, exchange.method);
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

interface Found {
  readonly info: RequestInfo;
  readonly resource: Resource | undefined;
}

/**
 * Whether a path belongs to the API: not in groups that are not served, and not below custom
 * resources that do not exist.
 */
export function isServed(catalog: Catalog, { info, resource }: Found): boolean {
  const { isResource, path, group, namespace, verb } = info;
  if (!isResource || path.startsWith("//")) return false;
  if (resource?.kind.custom === undefined) {
    // Built-in resources come first in their group.
    const [first] = catalog.inGroup(group);
    return group === "" || (first !== undefined && first.kind.custom === undefined);
  }
  const everywhere = verb === "list" || verb === "watch";
  return resource.kind.scope === "Namespaced" ? namespace !== "" || everywhere : namespace === "";
}
