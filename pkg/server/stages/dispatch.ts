import type { Stage } from "./middleware-chain.ts";
import type { Nothing, RequestState } from "./state.ts";
import { apiRoutes, runRoutes } from "../routes/api-routes.ts";
import { documentRoutes, notFound } from "../routes/document-routes.ts";
import { proxyToBackend } from "../proxy/aggregated.ts";
import type { ServerParts } from "./server-parts.ts";

/**
 * Runs the handler of the route: a verb of the registry, a connection, or a document. Routes are compiled
 * when they are first needed: most servers of tests serve no documents.
 */
export function dispatch(parts: ServerParts): Stage<RequestState, Nothing> {
  let api: ReturnType<typeof apiRoutes> | undefined;
  let documents: ReturnType<typeof documentRoutes> | undefined;
  const { catalog, closing, limits, tracer } = parts;
  const proxying = { domain: catalog.domain, closing, tracer, bodyLimit: limits.bodyBytes };
  return {
    name: "dispatch",
    run: (context) => {
      const { state } = context;
      const { aggregation } = parts;
      const apiService = aggregation?.apiServices.remoteFor(state.info.path);
      if (aggregation !== undefined && apiService !== undefined) {
        return proxyToBackend({ ...proxying, aggregation }, state, apiService);
      }
      api ??= apiRoutes(parts);
      return runRoutes(api, context, () => {
        documents ??= documentRoutes(parts);
        return runRoutes(documents, context, async () => notFound(parts.catalog, state));
      });
    },
  };
}
