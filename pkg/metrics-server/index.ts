/** metrics-server: an aggregated API server of simulated usage, `metrics.k8s.io/v1beta1`. */
export { type MetricsServerOptions, runMetricsServer } from "./metrics-server.ts";
