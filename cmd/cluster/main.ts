import path from "node:path";
import { flag, parseFlags } from "../flags/parse.ts";
import { startCluster } from "./cluster.ts";

export const clusterFlags = {
  directory: flag("string", ".keelson/cluster", "folder of certificates, data and logs"),
  port: flag("int", 6443, "port of the balancer; 0 = any free one", {
    minimum: 0,
    maximum: 65_535,
  }),
} as const;

/** `keelson cluster`: runs until it is interrupted. */
export async function runCluster(words: readonly string[]): Promise<void> {
  const { directory, port } = parseFlags(clusterFlags, words);
  const cluster = await startCluster({ directory: path.resolve(directory), port });
  const { members, servers, managers, balancer, prometheus } = cluster;
  const all = [...members, ...servers, ...managers, balancer, ...(prometheus ? [prometheus] : [])];
  let closing = false;
  for (const each of all) {
    console.log(`  ${each.name.padEnd(22)} ${"url" in each ? each.url : ""} (process ${each.pid})`);
    void each.ended().then(() => closing || console.error(`keelson: ${each.name} ended`));
  }
  const shown = path.relative(process.cwd(), cluster.kubeconfig);
  console.log(`keelson: ${cluster.url} is ready; try: kubectl --kubeconfig ${shown} get leases -A`);
  await new Promise<void>((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => resolve());
  });
  closing = true;
  await cluster.close();
}
