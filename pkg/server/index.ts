/** server: the HTTP face of the API, and the only importer of koa. */
export {
  type CloseOptions,
  createServer,
  type KeelsonServer,
  type Lifecycle,
  type ServerOptions,
  type TlsOptions,
} from "./server.ts";
export type { DebuggingOptions } from "./debugging.ts";
export type { HealthCheck, HealthEndpoint } from "./health.ts";
export { defaultLimits, type Limits } from "./limits.ts";
export type { LocalAnswer, LocalRequest } from "./local-exchange.ts";
export type { ServerDocument } from "./non-resource.ts";
export { type Figures, PrometheusMetrics } from "./metrics.ts";
export type { KubeletTls } from "./tunnels.ts";
export { versionInfo } from "./version.ts";
