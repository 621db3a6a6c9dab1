import type Koa from "koa";
import { audit } from "./audit.ts";
import { account } from "./account.ts";
import { limitStarts, refuseDuringShutdown } from "./admit-request.ts";
import { maxInFlight } from "./flow-control/max-in-flight.ts";
import { priorityAndFairness } from "./flow-control/priority-and-fairness.ts";
import { MiddlewareChain, type Stage } from "./middleware-chain.ts";
import type { Admitted, Arrived, Audited, Authenticated, Parsed, Timed } from "./state.ts";
import { trace } from "./tracing.ts";
import type { ServerParts } from "./server-parts.ts";
import { recover } from "./recover.ts";
import { requestInfo } from "./request-info.ts";
import { deadline } from "./deadline.ts";
import { dispatch } from "./dispatch.ts";
import { authenticate } from "./access/authenticate.ts";
import { impersonate } from "./access/impersonate.ts";
import { intercept } from "./access/intercept.ts";
import { authorize } from "./access/authorize.ts";

/** Installs the stages that every request passes, in order: apiserver's DefaultBuildHandlerChain. */
export function installStages(app: Koa, parts: ServerParts): void {
  MiddlewareChain.on(app, (stage) => parts.metrics.stage(stage))
    .use(account(parts))
    .use(refuseDuringShutdown(parts))
    .use(limitStarts())
    .use(recover(parts))
    .use(requestInfo(parts))
    .use(deadline(parts))
    .use(authenticate(parts))
    .use(trace(parts.tracer))
    .use(audit(parts))
    .use(impersonate(parts))
    .use(intercept(parts.interceptor))
    .use(flowControl(parts))
    .use(authorize(parts))
    .use(dispatch(parts));
}

/** Admits the request, possibly after it has waited in a queue, or rejects it with 429. */
function flowControl(
  parts: ServerParts,
): Stage<Arrived & Parsed & Timed & Authenticated & Audited, Admitted> {
  const { flowControl: controller } = parts;
  if (controller === undefined) return maxInFlight(parts);
  return priorityAndFairness({ ...parts, flowControl: controller });
}
