/** server: the HTTP server of the API, and the only importer of Koa. */
export {
  type CloseOptions,
  createServer,
  type KeelsonServer,
  type Lifecycle,
  type ServerOptions,
} from "./server.ts";
export type { TlsOptions } from "./transport/tls.ts";
export type { DebuggingOptions } from "./ops/debugging.ts";
export type { HealthCheck, HealthEndpoint } from "./ops/health.ts";
export { defaultLimits, type Limits } from "./limits.ts";
export type { LocalResponse, LocalRequest } from "./transport/local-exchange.ts";
export type { AggregatedDocuments, ServerDocument } from "./routes/document-routes.ts";
export { type MetricsSnapshot, PrometheusMetrics } from "./metrics/metrics.ts";
export type { Aggregation } from "./proxy/aggregated.ts";
export type { KubeletTls } from "./proxy/tunnels.ts";
export {
  type ProxiedRequest,
  UpstreamProxy,
  type UpstreamProxyOptions,
} from "./proxy/upstream-proxy.ts";
export type { InterceptedRequest, RequestInterceptor, WatchFilter } from "./interceptor.ts";
export { versionInfo } from "./version.ts";
