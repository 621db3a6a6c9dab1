import { readFileSync } from "node:fs";
import { systemClock } from "#base";
import { HttpClient, http2Transport, withRetries } from "#client";
import { domainOf } from "#meta";
import { runMetricsServer } from "#metrics-server";
import { apiserver } from "#registry";
import { noInstruments, parseKubeconfig } from "#request";
import type { Assembly } from "./assemble.ts";

const userAgent = "metrics-server";
const rate = { perSecond: 50, burst: 100 };

/** `--metrics-server`: runs metrics-server beside the API server until its signal aborts. */
export async function runOwnMetricsServer(assembly: Assembly): Promise<void> {
  const { aggregated, registry, clock, signal, report } = assembly;
  const client = aggregated.client(registry, { user: apiserver, userAgent, signal });
  await runMetricsServer({ client, clock, signal, report });
}

export interface MetricsServerConnection {
  /** Text of a kubeconfig of the cluster. */
  readonly kubeconfig: string;
  /** Ends the server. */
  readonly signal: AbortSignal;
  readonly report: (what: string, error: unknown) => void;
}

/** Runs metrics-server as a program of its own against an API server, until the signal aborts. */
export async function serveMetrics(connection: MetricsServerConnection): Promise<void> {
  const { kubeconfig, signal, report } = connection;
  const found = parseKubeconfig(kubeconfig, (path) => readFileSync(path, "utf8"));
  const clock = systemClock;
  const { host } = found.url;
  const transport = http2Transport({ endpoint: () => found, clock, signal });
  const send = withRetries(transport, { clock, host, instruments: noInstruments, rate });
  const client = new HttpClient({ send, domain: domainOf(), clock, userAgent, signal });
  await runMetricsServer({ client, clock, signal, report });
}
