import type { Catalog } from "#meta";
import type { Registry } from "#registry";
import type { Clock } from "#base";
import type { Authorizer, Query, RequestInfo, RequestNotes, User } from "#request";
import type { WatchFilter } from "../interceptor.ts";
import type { Limits } from "../limits.ts";
import type { PrometheusMetrics } from "../metrics/metrics.ts";
import type { Route } from "../routes/resource-route.ts";
import type { Exchange } from "../transport/exchange.ts";
import type { Shutdown } from "../transport/shutdown.ts";

/** Dependencies of the verb handlers. */
export interface VerbParts {
  readonly catalog: Catalog;
  readonly registry: Registry;
  readonly authorizer: Authorizer;
  readonly clock: Clock;
  readonly limits: Limits;
  readonly metrics: PrometheusMetrics;
  /** Ends watches when the server shuts down. */
  readonly closing: Shutdown;
}

export interface VerbRequest {
  readonly exchange: Exchange;
  readonly info: RequestInfo;
  readonly query: Query;
  readonly user: User;
  readonly route: Route;
  /** Absent when the request is not audited. */
  readonly notes?: RequestNotes | undefined;
  /** Called when a watch is initialized. */
  readonly initialized?: (() => void) | undefined;
  /** Filters the events of a watch; absent = all are sent. */
  readonly watchFilter?: WatchFilter | undefined;
}

/** Whether the request is for a custom resource, which has other media types than built-in kinds. */
export function isCustom({ route }: VerbRequest): boolean {
  return route.resource.kind.custom !== undefined;
}
