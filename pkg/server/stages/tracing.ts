/** Traces of requests (KEP-647). */
import { StatusError } from "#meta";
import type { RequestInfo, Span, TraceHeaders, Tracer, User } from "#request";
import type { Stage, Traced } from "./middleware-chain.ts";
import { ClientGone, type Exchange } from "../transport/exchange.ts";

interface Traceable {
  readonly exchange: Exchange;
  readonly info: RequestInfo;
  readonly user: User;
}

/** Groups whose `traceparent` decides about sampling; other clients could overload the server. */
const trustedGroups = ["system:masters", "system:monitoring"];
const clientClosedRequest = 499;

/** Starts the span of the request, after authentication: only trusted users decide about sampling. */
export function trace(tracer: Tracer): Stage<Traceable, Traced> {
  return {
    name: "trace",
    isIdle: !tracer.isOn,
    run: async ({ state }, next) => {
      const { exchange, info, user } = state;
      const span = tracer.begin({
        name: spanName(exchange.method, info),
        attributes: attributesOf(state),
        headers: traceHeaders(exchange),
        isTrusted: user.groups.some((group) => trustedGroups.includes(group)),
      });
      try {
        await span.run(() => next({ span }));
        endSpan(span, exchange.response.status ?? clientClosedRequest);
      } catch (error) {
        endSpan(span, codeOf(exchange, error));
        throw error;
      }
    },
  };
}

/** The route, such as `GET /api/v1/namespaces/{:namespace}/configmaps/{:name}`: few distinct names. */
function spanName(method: string, info: RequestInfo): string {
  if (!info.isResource) return method;
  const { apiPrefix, group, version, namespace, resource, name, subresource } = info;
  const parts = [
    apiPrefix,
    group,
    version,
    namespace === "" ? "" : "namespaces/{:namespace}",
    resource,
    name === "" ? "" : "{:name}",
    subresource,
  ];
  return `${method} /${parts.filter((part) => part !== "").join("/")}`;
}

/** The path is recorded without its query, which may contain secrets. */
function attributesOf({ exchange, info }: Traceable) {
  return {
    "http.request.method": exchange.method,
    "url.path": info.path,
    "user_agent.original": exchange.header("user-agent") ?? "",
    "client.address": exchange.remoteAddress ?? "",
    "audit-id": exchange.auditId,
  };
}

function traceHeaders(exchange: Exchange): TraceHeaders {
  const names = ["traceparent", "tracestate"];
  const sent = names.flatMap((name) => {
    const value = exchange.header(name);
    return value === undefined ? [] : [[name, value] as const];
  });
  return Object.fromEntries(sent);
}

function codeOf({ response, reason }: Exchange, error: unknown): number {
  if (error instanceof ClientGone || reason instanceof ClientGone) return clientClosedRequest;
  if (response.status !== undefined) return response.status;
  return error instanceof StatusError ? error.code : 500;
}

function endSpan(span: Span, code: number): void {
  span.set({ "http.response.status_code": code });
  if (code >= 500) span.failed(`response code ${code}`);
  span.end();
}
