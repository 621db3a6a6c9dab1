/**
 * An API server behind the API server: metrics-server, with simulated usage. It registers itself with
 * the cluster of a kubeconfig; then `kubectl top nodes` and `kubectl top pods` work.
 *
 *     node --conditions=source --import=tsx examples/aggregated-server.ts .keelson/kubeconfig
 */
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { serveMetrics } from "../cmd/keelson/index.ts";

/** Serves until the signal aborts. */
export async function runAggregatedServer(kubeconfig: string, signal: AbortSignal): Promise<void> {
  const report = (what: string, error: unknown) => console.error(`${what}: ${String(error)}`);
  await serveMetrics({ kubeconfig, signal, report });
}

const [, program = "", file = ".keelson/kubeconfig"] = process.argv;
if (import.meta.url === pathToFileURL(program).href) {
  const ended = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => ended.abort());
  await runAggregatedServer(readFileSync(file, "utf8"), ended.signal);
}
