import type { Resource } from "#meta";
import type { AuditTrail, Query, RequestInfo, User } from "#request";
import type { RequestRecord } from "../metrics/requests.ts";
import type { WatchFilter } from "../interceptor.ts";
import type { Exchange } from "../transport/exchange.ts";

/** State of every request from the first stage on. */
export interface Arrived {
  readonly exchange: Exchange;
  /** What metrics and the access log report when the request is over. */
  readonly record: RequestRecord;
}

export interface Parsed {
  readonly info: RequestInfo;
  readonly query: Query;
  /** Undefined when the path names no resource that is served. */
  readonly resource: Resource | undefined;
}

export interface Timed {
  /** Time in ms that the request has; for a long-running one, that of an ordinary request. */
  readonly timeoutMs: number;
  /** `Clock.monotonic()` in ms at which that time began. */
  readonly received: number;
}

export interface Authenticated {
  readonly user: User;
}

export interface Audited {
  /** Undefined when the audit policy does not record the request. */
  readonly trail: AuditTrail | undefined;
}

export interface Admitted {
  /** Releases the seats of a watch once it is initialized; absent for other requests. */
  readonly initialized?: () => void;
}

export interface Intercepted {
  /** Absent = the events of a watch are sent as they are. */
  readonly watchFilter?: WatchFilter;
}

/** State of a request that reaches a route. */
export type RequestState = Arrived & Parsed & Authenticated & Audited & Intercepted & Admitted;

/** What a stage adds that adds nothing. */
export type Nothing = Readonly<Record<never, never>>;
export const nothing: Nothing = {};
