import type { InterceptedRequest, RequestInterceptor } from "../../interceptor.ts";
import type { Stage } from "../middleware-chain.ts";
import type { Arrived, Authenticated, Intercepted, Parsed } from "../state.ts";

/** Passes requests to the interceptor of a test server, with the impersonated user. */
export function intercept(
  interceptor: RequestInterceptor | undefined,
): Stage<Arrived & Parsed & Authenticated, Intercepted> {
  return {
    name: "intercept",
    isIdle: interceptor === undefined,
    run: ({ state: { exchange, info, user } }, next) => {
      const request: InterceptedRequest = {
        info,
        user,
        signal: exchange.signal,
        header: (name) => exchange.header(name),
        status: () => exchange.response.status,
      };
      return interceptor!.intercept(request, (watchFilter) =>
        next(watchFilter === undefined ? {} : { watchFilter }),
      );
    },
  };
}
