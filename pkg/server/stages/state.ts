import type { Resource } from "#meta";
import type { AuditTrail, Query, RequestInfo, User } from "#request";
import type { RequestRecord } from "../metrics/requests.ts";
import type { WatchFilter } from "../interceptor.ts";
import type { Exchange } from "../transport/exchange.ts";

/** State of every request from the first stage on. */
export interface Arrived {
  readonly exchange: Exchange;
  /** Labels and figures that metrics and the access log report at the end of the request. */
  readonly record: RequestRecord;
}

export interface Parsed {
  readonly info: RequestInfo;
  readonly query: Query;
  /** Undefined if the path is not that of a served resource. */
  readonly resource: Resource | undefined;
}

export interface Timed {
  /** Timeout of the request in ms; for a long-running one, that of an ordinary request. */
  readonly timeoutMs: number;
  /** `Clock.monotonic()` in ms at which the request arrived. */
  readonly received: number;
}

export interface Authenticated {
  readonly user: User;
}

export interface Audited {
  /** Undefined if the audit policy does not record the request. */
  readonly trail: AuditTrail | undefined;
}

export interface Admitted {
  /** Releases the seats of a watch once it is initialized; absent for other requests. */
  readonly initialized?: () => void;
}

export interface Intercepted {
  /** Filters the events of a watch; absent = all are sent. */
  readonly watchFilter?: WatchFilter;
}

/** State of a request that reaches a route. */
export type RequestState = Arrived & Parsed & Authenticated & Audited & Intercepted & Admitted;

/** The addition of a stage that adds nothing. */
export type Nothing = Readonly<Record<never, never>>;
export const nothing: Nothing = {};
