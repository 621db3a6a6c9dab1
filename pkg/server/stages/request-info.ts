import { lacksResource, parseRequestInfo, parseTarget } from "#request";
import { internalErrorText } from "../response/failures.ts";
import { sendText } from "../response/response-writer.ts";
import type { Stage } from "./middleware-chain.ts";
import type { Arrived, Parsed } from "./state.ts";
import { describeRequest } from "./request-description.ts";
import type { ServerParts } from "./server-parts.ts";

/** Parses path and query into RequestInfo, once for all later stages. Responds 400 if it cannot. */
export function requestInfo({ catalog, aggregation }: ServerParts): Stage<Arrived, Parsed> {
  return {
    name: "requestInfo",
    run: ({ state: { exchange, record } }, next) => {
      const target = parseTarget(exchange.url);
      if (target === undefined) {
        record.code = 400;
        return sendText(exchange, 400, "400 Bad Request");
      }
      const info = parseRequestInfo(exchange.method, target);
      if (lacksResource(info)) {
        record.code = 500;
        const fault = `unable to determine kind and namespace from url, ${exchange.url}`;
        const text = internalErrorText(exchange.url, `failed to create RequestInfo: ${fault}`);
        return sendText(exchange, 500, text);
      }
      const { query } = target;
      const { isResource, group, version, resource: plural } = info;
      const resource = isResource ? catalog.find(group, version, plural) : undefined;
      const isRemote = aggregation?.apiServices.remoteFor(info.path) !== undefined;
      describeRequest({ exchange, record }, { info, query, resource, isRemote });
      return next({ info, query, resource });
    },
  };
}
