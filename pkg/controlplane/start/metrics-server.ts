import { runMetricsServer } from "#metrics-server";
import { apiserver } from "#registry";
import type { Assembly } from "./assemble.ts";

/** `--metrics-server`: runs metrics-server beside the API server until its signal aborts. */
export async function runOwnMetricsServer(assembly: Assembly): Promise<void> {
  const { aggregated, registry, clock, signal, report } = assembly;
  const identity = { user: apiserver, userAgent: "metrics-server", signal };
  const client = aggregated.client(registry, identity);
  await runMetricsServer({ client, clock, signal, report });
}
