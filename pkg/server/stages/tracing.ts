/** Requests as traces tell of them. */
import { StatusError } from "#meta";
import type { RequestInfo, Span, TraceHeaders, Tracer, User } from "#request";
import type { Stage, Traced } from "./middleware-chain.ts";
import { ClientGone, type Exchange } from "../transport/exchange.ts";

interface Traceable {
  readonly exchange: Exchange;
  readonly info: RequestInfo;
  readonly user: User;
}

/** Their members may have their requests recorded; others could make the server busy with it. */
const trustedGroups = ["system:masters", "system:monitoring"];
const clientLeft = 499;

/** From here on the request is recorded: who is known decides whether it has a say in that. */
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
        ended(span, exchange.response.status ?? clientLeft);
      } catch (error) {
        ended(span, codeOf(exchange, error));
        throw error;
      }
    },
  };
}

/** `GET /api/v1/namespaces/{:namespace}/configmaps/{:name}`: as many names as there are routes. */
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
  if (error instanceof ClientGone || reason instanceof ClientGone) return clientLeft;
  if (response.status !== undefined) return response.status;
  return error instanceof StatusError ? error.code : 500;
}

function ended(span: Span, code: number): void {
  span.set({ "http.response.status_code": code });
  if (code >= 500) span.failed(`response code ${code}`);
  span.end();
}
