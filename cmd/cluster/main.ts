import path from "node:path";
import { flag, parseFlags } from "../flags/parse.ts";
import { type Cluster, startCluster } from "#controlplane";

const clusterFlags = {
  directory: flag("string", ".keelson/cluster", "directory of certificates, data and logs"),
  port: flag("int", 6443, "port of the load balancer; 0 = any free one", {
    minimum: 0,
    maximum: 65_535,
  }),
} as const;

/** `keelson cluster`: runs a local cluster until SIGINT or SIGTERM. */
async function runCluster(words: readonly string[]): Promise<void> {
  const { directory, port } = parseFlags(clusterFlags, words);
  const interrupted = interruption();
  const options = { directory: path.resolve(directory), port, signal: interrupted };
  const cluster = await startCluster(options).catch((error: unknown) => {
    if (!interrupted.aborted) throw error;
  });
  if (cluster) await runUntil(cluster, interrupted);
}

function interruption(): AbortSignal {
  const controller = new AbortController();
  for (const name of ["SIGTERM", "SIGINT"] as const) {
    process.once(name, () => controller.abort());
  }
  return controller.signal;
}

async function runUntil(cluster: Cluster, interrupted: AbortSignal): Promise<void> {
  const { members, servers, managers, balancer, prometheus } = cluster;
  const all = [...members, ...servers, ...managers, balancer, ...(prometheus ? [prometheus] : [])];
  for (const each of all) {
    console.log(`  ${each.name.padEnd(22)} ${"url" in each ? each.url : ""} (process ${each.pid})`);
    void each.supervise(interrupted, (line) => console.error(`keelson: ${line}`));
  }
  const shown = path.relative(process.cwd(), cluster.kubeconfig);
  console.log(`keelson: ${cluster.url} is ready; try: kubectl --kubeconfig ${shown} get leases -A`);
  await new Promise<void>((resolve) => {
    if (interrupted.aborted) resolve();
    interrupted.addEventListener("abort", () => resolve(), { once: true });
  });
  await cluster.close();
}

export const clusterCommand = {
  groups: [{ heading: "Cluster", flags: clusterFlags }],
  run: runCluster,
} as const;
