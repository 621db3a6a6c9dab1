import type { Clock, Logger } from "#base";
import type { FlowController } from "#flowcontrol";
import type { Catalog } from "#meta";
import type { Auditor, Authenticator, Authorizer, Tracer } from "#request";
import type { Registry } from "#registry";
import type { RequestInterceptor } from "../interceptor.ts";
import type { Shutdown } from "../transport/shutdown.ts";
import type { Debugging } from "../ops/debugging.ts";
import type { Health } from "../ops/health.ts";
import type { Limits } from "../limits.ts";
import type { PrometheusMetrics } from "../metrics/metrics.ts";
import type { AggregatedDocuments, ServerDocument } from "../routes/document-routes.ts";
import type { Aggregation } from "../proxy/aggregated.ts";
import type { Tunnels } from "../proxy/tunnels.ts";

/** Dependencies of the stages, one object per server. */
export interface ServerParts {
  readonly catalog: Catalog;
  readonly registry: Registry;
  readonly authenticator: Authenticator;
  readonly authorizer: Authorizer;
  /** Absent = requests are not audited. */
  readonly auditor?: Auditor | undefined;
  readonly tracer: Tracer;
  readonly clock: Clock;
  readonly limits: Limits;
  /** Absent = API Priority and Fairness is off, and the limits bound the requests in flight. */
  readonly flowControl: FlowController | undefined;
  /** Absent = requests are not intercepted. */
  readonly interceptor: RequestInterceptor | undefined;
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
  /** Absent = `/debug` is not served. */
  readonly debugging: Debugging | undefined;
}
