/**
 * Pods on simulated nodes in the process of the server: `bench:nodes [nodes] [pods]`. Prints the time
 * until all pods are Running, the heap, and the CPU that heartbeats alone take.
 */
import { setTimeout } from "node:timers/promises";
import { type RunningServer, startServer } from "../../cmd/keelson/index.ts";

const [nodes = 1_000, pods = 10_000] = process.argv.slice(2).map(Number);
const idleMs = 20_000;
const writers = 32;

function heapMegabytes(): number {
  globalThis.gc?.();
  return Math.round(process.memoryUsage().heapUsed / 1e6);
}

async function untilListed(server: RunningServer, path: string, count: number): Promise<void> {
  for (;;) {
    const list = await (await server.fetch(path)).json();
    if ((list as { readonly items: readonly unknown[] }).items.length >= count) return;
    await setTimeout(100);
  }
}

async function createPods(server: RunningServer): Promise<void> {
  let next = 0;
  const write = async () => {
    while (next < pods) {
      const index = next++;
      const nodeName = `hollow-${index % nodes}`;
      const spec = { nodeName, containers: [{ name: "app", image: "nginx" }] };
      const body = JSON.stringify({ metadata: { name: `p-${index}` }, spec });
      const headers = { "content-type": "application/json" };
      const path = "/api/v1/namespaces/default/pods";
      const response = await server.fetch(path, { method: "POST", headers, body });
      if (!response.ok) throw new Error(await response.text());
      await response.text();
    }
  };
  await Promise.all(Array.from({ length: writers }, write));
}

const began = performance.now();
const server = await startServer({
  controllers: false,
  admissionPlugins: { disable: ["ServiceAccount"], enable: [], only: [] },
  priorityAndFairness: false,
  nodes: { count: nodes },
});
const leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
await untilListed(server, leases, nodes);
console.log(`${nodes} nodes with Leases after ${Math.round(performance.now() - began)} ms`);
const heap = heapMegabytes();
const started = performance.now();
await createPods(server);
await untilListed(server, "/api/v1/pods?fieldSelector=status.phase%3DRunning", pods);
const seconds = (performance.now() - started) / 1000;
console.log(`${pods} pods Running after ${seconds.toFixed(1)} s, ${Math.round(pods / seconds)}/s`);
console.log(`heap of the server and the nodes: ${heap} MB, with pods ${heapMegabytes()} MB`);
const before = process.cpuUsage();
await setTimeout(idleMs);
const { user, system } = process.cpuUsage(before);
const share = ((user + system) / (idleMs * 10)).toFixed(0);
console.log(`heartbeats: ${share} % of a core for ${nodes / 10} Leases per second`);
await server.close();
