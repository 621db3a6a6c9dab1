/**
 * An API server behind the API server: metrics-server, with simulated usage. It registers itself with
 * the cluster of a kubeconfig; then `kubectl top nodes` and `kubectl top pods` work.
 *
 *     node --conditions=source --import=tsx examples/aggregated-server.ts .keelson/kubeconfig
 *
 * `pkg/metrics-server` has the server itself: documents, samples, and trust in the API server.
 */
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { systemClock } from "#base";
import { HttpClient, http2Transport, withRetries } from "#client";
import { domainOf } from "#meta";
import { runMetricsServer } from "#metrics-server";
import { noInstruments, parseKubeconfig } from "#request";

const userAgent = "metrics-server";
const rate = { perSecond: 50, burst: 100 };

/** Serves until the signal aborts. */
export async function runAggregatedServer(kubeconfig: string, signal: AbortSignal): Promise<void> {
  const clock = systemClock;
  const endpoint = parseKubeconfig(kubeconfig, (path) => readFileSync(path, "utf8"));
  const transport = http2Transport({ endpoint: () => endpoint, clock, signal });
  const { host } = endpoint.url;
  const send = withRetries(transport, { clock, host, instruments: noInstruments, rate });
  const client = new HttpClient({ send, domain: domainOf(), clock, userAgent, signal });
  const report = (what: string, error: unknown) => console.error(`${what}: ${String(error)}`);
  await runMetricsServer({ client, clock, signal, report });
}

const [, program = "", file = ".keelson/kubeconfig"] = process.argv;
if (import.meta.url === pathToFileURL(program).href) {
  const ended = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => ended.abort());
  await runAggregatedServer(readFileSync(file, "utf8"), ended.signal);
}
