/** The npm package's entry point: a whole API server inside this process. */
export {
  type MetricsServerConnection,
  type RunningServer,
  serveMetrics,
  type StartOptions,
  startServer,
  type StorageOptions,
} from "#controlplane";
