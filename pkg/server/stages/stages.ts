import type { RouterContext } from "@koa/router";
import type Koa from "koa";
import { fieldTermsOf, labelTermsOf } from "#authz";
import { afterwards, type Clock, type Logger, rescued, whenThere } from "#base";
import type { FlowController } from "#flowcontrol";
import { type Catalog, internalError, StatusError, unauthorized } from "#meta";
import {
  type AuthorizationAttributes,
  type Auditor,
  type Authenticator,
  type Authorizer,
  parseRequestInfo,
  parseTarget,
  type Query,
  type RequestInfo,
  type SelectorTerm,
  type Tracer,
  type User,
} from "#request";
import type { Registry } from "#registry";
import { sendText } from "../response/response-writer.ts";
import { audit, auditRefusal, noteDecision } from "./audit.ts";
import { account } from "./account.ts";
import { limitStarts, refuseDuringShutdown } from "./admit-request.ts";
import { maxInFlight } from "./flow-control/max-in-flight.ts";
import { priorityAndFairness } from "./flow-control/priority-and-fairness.ts";
import { MiddlewareChain, type Stage } from "./middleware-chain.ts";
import {
  type Admitted,
  type Arrived,
  type Audited,
  type Authenticated,
  type Nothing,
  nothing,
  type Parsed,
  type RequestState,
  type Timed,
} from "./state.ts";
import type { Shutdown } from "../transport/shutdown.ts";
import type { Debugging } from "../ops/debugging.ts";
import { ClientGone } from "../transport/exchange.ts";
import { sendFailure } from "../response/failure-response.ts";
import { deadlineExceeded, forbidden, internalErrorText } from "../response/failures.ts";
import type { Health } from "../ops/health.ts";
import { actingUser } from "./impersonation.ts";
import type { Limits } from "../limits.ts";
import type { PrometheusMetrics } from "../metrics/metrics.ts";
import { apiRoutes, runRoutes } from "../routes/api-routes.ts";
import {
  type AggregatedDocuments,
  documentRoutes,
  notFound,
  type ServerDocument,
} from "../routes/document-routes.ts";
import { describeRequest } from "./request-description.ts";
import { requestTimeout } from "./request-timeout.ts";
import { trace } from "./tracing.ts";
import { type Aggregation, proxyToBackend } from "../proxy/aggregated.ts";
import type { Tunnels } from "../proxy/tunnels.ts";

/** What the stages work with; made once per server. */
export interface ServerParts {
  readonly catalog: Catalog;
  readonly registry: Registry;
  readonly authenticator: Authenticator;
  readonly authorizer: Authorizer;
  /** Absent = nothing is recorded. */
  readonly auditor?: Auditor | undefined;
  readonly tracer: Tracer;
  readonly clock: Clock;
  readonly limits: Limits;
  /** Absent = API Priority and Fairness is off, and the limits bound the requests in flight. */
  readonly flowControl: FlowController | undefined;
  readonly metrics: PrometheusMetrics;
  readonly health: Health;
  readonly logger: Logger;
  readonly closing: Shutdown;
  /** While the server shuts down it responds 429 with Retry-After, except to health checks. */
  readonly retryAfterWhenClosing: boolean;
  readonly documents: ReadonlyMap<string, ServerDocument>;
  /** Absent = no requests are proxied to other API servers. */
  readonly aggregation: Aggregation | undefined;
  readonly aggregated: AggregatedDocuments;
  readonly tunnels: Tunnels;
  /** Absent = the inside of the server is not shown. */
  readonly debugging: Debugging | undefined;
}

/** Installs the path of every request, top to bottom. */
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
    .use(flowControl(parts))
    .use(authorize(parts))
    .use(dispatch(parts));
}

/** Turns whatever is thrown further in into a response, once. */
function recover({ logger }: ServerParts): Stage<Arrived, Nothing> {
  return {
    name: "recover",
    run: ({ state: { exchange, record } }, next) =>
      next(nothing).catch((error: unknown) => {
        const { response } = exchange;
        if (error instanceof ClientGone || exchange.reason instanceof ClientGone) {
          record.code = 499;
          return response.destroy();
        }
        const failure =
          error instanceof StatusError ? error : unexpected(error, exchange.auditId, logger);
        record.code = failure.code;
        // A half-sent response cannot be corrected, only cut off.
        if (response.started) return response.destroy();
        sendFailure(exchange, failure);
      }),
  };
}

/** A bug or a broken store: the client learns an id, the log the rest. */
function unexpected(error: unknown, id: string, logger: Logger): StatusError {
  const stack = error instanceof Error ? (error.stack ?? "") : "";
  logger.error("Request failed", error, { "audit-ID": id, stack });
  return internalError(`the request failed, its log entry is ${id}`);
}

/** Reads the path, once for all that follows. */
function requestInfo({ catalog }: ServerParts): Stage<Arrived, Parsed> {
  return {
    name: "requestInfo",
    run: ({ state: { exchange, record } }, next) => {
      const target = parseTarget(exchange.url);
      if (target === undefined) {
        record.code = 400;
        return sendText(exchange, 400, "400 Bad Request");
      }
      const info = parseRequestInfo(exchange.method, target);
      const { query } = target;
      const { isResource, group, version, resource: plural } = info;
      const resource = isResource ? catalog.find(group, version, plural) : undefined;
      describeRequest({ exchange, record }, { info, query, resource });
      return next({ info, query, resource });
    },
  };
}

/**
 * Gives every request but watches an end; the client may ask for an earlier one with `?timeout=`.
 */
function deadline({ limits, clock }: ServerParts): Stage<Arrived & Parsed, Timed> {
  return {
    name: "deadline",
    run: ({ state: { exchange, record, query } }, next) => {
      const received = clock.monotonic();
      if (record.longRunning) return next({ timeoutMs: limits.requestTimeout, received });
      const milliseconds = requestTimeout(query.get("timeout"), limits.requestTimeout);
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          const reason = deadlineExceeded();
          exchange.abort(reason);
          reject(reason);
        }, milliseconds);
        const work = next({ timeoutMs: milliseconds, received });
        afterwards(work, () => clearTimeout(timer)).then(resolve, reject);
      });
    },
  };
}

/** Authenticates the request; invalid credentials are rejected, never treated as anonymous. */
function authenticate(parts: ServerParts): Stage<Arrived & Parsed, Authenticated> {
  const { authenticator, logger, metrics, clock } = parts;
  return {
    name: "authenticate",
    run: ({ state }, next) => {
      const { exchange, info } = state;
      const { authorization, certificate } = exchange;
      const headersBelow = (prefix: string) => exchange.headersBelow(prefix);
      const credentials = { authorization, certificate, headersBelow, path: info.path };
      let refusal: StatusError | undefined;
      let why: "failure" | "error" = "failure";
      const started = performance.now();
      const tell = (result: { readonly user: User } | "failure" | "error") =>
        metrics.access.authenticated(result, (performance.now() - started) / 1000);
      const refuse = (error: unknown) => {
        if (error instanceof StatusError) refusal = error;
        else {
          why = "error";
          logger.error("Unable to authenticate the request", error, {
            "audit-ID": exchange.auditId,
          });
        }
        return undefined;
      };
      const found = rescued<User | undefined>(
        () => authenticator.authenticate(credentials),
        refuse,
      );
      return whenThere(found, (user) => {
        if (user === undefined) {
          tell(why);
          throw auditRefusal(parts, state, refusal ?? unauthorized());
        }
        tell({ user });
        if (certificate !== undefined) metrics.access.certificate(certificate, clock.now());
        return next({ user });
      });
    },
  };
}

/** Replaces the user by the impersonated one, if the user is authorized to impersonate it. */
function impersonate({
  authorizer,
  catalog,
}: ServerParts): Stage<Arrived & Parsed & Authenticated & Audited, Authenticated> {
  return {
    name: "impersonate",
    run: ({ state: { exchange, info, user, record, trail } }, next) => {
      const { domain } = catalog;
      const request = { exchange, path: info.path };
      return whenThere(actingUser(user, request, { authorizer, domain }), (acting) => {
        if (acting === undefined) {
          record.code = 500;
          return undefined;
        }
        if (acting !== user) trail?.actsAs(acting);
        return next({ user: acting });
      });
    },
  };
}

/** Gives the request seats, or rejects it with 429. */
function flowControl(
  parts: ServerParts,
): Stage<Arrived & Parsed & Timed & Authenticated & Audited, Admitted> {
  const { flowControl: controller } = parts;
  if (controller === undefined) return maxInFlight(parts);
  return priorityAndFairness({ ...parts, flowControl: controller });
}

/** Asks whether the user may do this. */
function authorize({
  authorizer,
  catalog,
  metrics,
}: ServerParts): Stage<Arrived & Parsed & Authenticated & Audited, Nothing> {
  return {
    name: "authorize",
    run: ({ state: { exchange, record, info, user, query, trail } }, next) => {
      const attributes = { user, request: info, ...selectorsOf(info, query) };
      const started = performance.now();
      return whenThere(authorizer.authorize(attributes), (decision) => {
        metrics.access.authorized(decision, (performance.now() - started) / 1000);
        noteDecision(trail, decision, catalog);
        const { verdict, reason, error = "" } = decision;
        if (verdict === "allow") return next(nothing);
        if (error === "") throw forbidden(attributes, reason);
        // No authorizer denied the request, but one of them failed.
        record.code = 500;
        return sendText(exchange, 500, internalErrorText(exchange.url, error));
      });
    },
  };
}

/** What narrows a list; what cannot be read narrows nothing, and is refused later. */
function selectorsOf(
  { isResource, verb }: RequestInfo,
  query: Query,
): Pick<AuthorizationAttributes, "fieldTerms" | "labelTerms"> {
  if (!isResource || !["list", "watch", "deletecollection"].includes(verb)) return {};
  const fields = query.get("fieldSelector");
  const labels = query.get("labelSelector");
  return {
    ...(fields ? { fieldTerms: termsOf(fields, fieldTermsOf) } : {}),
    ...(labels ? { labelTerms: termsOf(labels, labelTermsOf) } : {}),
  };
}

function termsOf(
  text: string,
  parse: (text: string) => readonly SelectorTerm[],
): readonly SelectorTerm[] {
  try {
    return parse(text);
  } catch (error) {
    if (error instanceof StatusError) return [];
    throw error;
  }
}

/** Runs the handler of the route: a verb of the registry, a connection, or a document. */
function dispatch(parts: ServerParts): Stage<RequestState, Nothing> {
  const api = apiRoutes(parts);
  const documents = documentRoutes(parts).routes();
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
      return runRoutes(api, context, () => {
        // The router adds its own members to Koa's context before it calls a handler.
        const routed = context as RouterContext<RequestState>;
        // The path is parsed once, and routed by as it was authorized.
        routed.newRouterPath = state.info.path;
        return documents(routed, async () => notFound(parts.catalog, state));
      });
    },
  };
}
