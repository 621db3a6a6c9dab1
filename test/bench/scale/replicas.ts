/**
 * Replicas on one etcd, and workers behind one port: the cost per request of each additional one.
 */
import { configMap } from "../load/client.ts";
import { Client, cpuMsPerCall, type LocalServer, type Scenario, type Scene } from "./scenario.ts";
import { memoryOfTree } from "../load/processes.ts";

const namespace = "scale-replicas";
const collection = `/api/v1/namespaces/${namespace}/configmaps`;

type Start = (scene: Scene, size: number) => Promise<readonly LocalServer[]>;

/** More calls than for a median, because CPU time is measured. */
const callsPerMedian = 20;
/** Connections per size, which are distributed among workers. */
const connections = 6;

function scenario(sizeName: string, sizes: readonly number[], start: Start): Scenario {
  return {
    sizeName,
    sizes,
    smallSizes: sizes.slice(0, 2),
    async *measure(scene, chosen) {
      for (const size of chosen) {
        const servers = await start(scene, size);
        yield { size, costs: await costsOf(scene, servers, size) };
        await scene.stop();
      }
    },
  };
}

async function costsOf(
  scene: Scene,
  servers: readonly LocalServer[],
  size: number,
): Promise<Readonly<Record<string, number>>> {
  const clients = Array.from({ length: connections }, (_each, n) => {
    return new Client(servers[n % servers.length]!.aim);
  });
  const client = (n: number): Client => clients[n % connections]!;
  const there = await client(0).getObject("/api/v1/namespaces");
  if (!there.items.some((each: any) => each.metadata.name === namespace)) {
    await client(0).createNamespace(namespace);
  }
  const count = scene.calls * callsPerMedian;
  const run = `r${size}-${Date.now().toString(36)}`;
  const create = (prefix: string) => (n: number) =>
    client(n).call("POST", collection, { body: configMap({ name: `${run}-${prefix}-${n}` }) });
  for (const each of clients) await each.get(`${collection}?limit=1`);
  await cpuMsPerCall(servers, count, create("warm"));
  const timed = async (call: (n: number) => Promise<unknown>) => {
    const began = performance.now();
    const cpu = await cpuMsPerCall(servers, count, call);
    return { cpu, ms: (performance.now() - began) / count };
  };
  const creates = await timed(create("made"));
  const gets = await timed((n) => client(n).get(`${collection}/${run}-made-${n}`));
  const costs = {
    "create CPU ms": creates.cpu,
    "create ms of 32 in flight": creates.ms,
    "GET CPU ms": gets.cpu,
    "GET ms of 32 in flight": gets.ms,
    "resident MiB": servers.reduce((sum, { pid }) => sum + memoryOfTree(pid), 0),
  };
  for (const each of clients) each.close();
  return costs;
}

export const replicas = scenario("replicas", [1, 2, 3], async (scene, size) => {
  const servers: LocalServer[] = [];
  for (let n = 0; n < size; n++) servers.push(await scene.start());
  return servers;
});

export const workers = scenario("workers", [1, 2, 3], async (scene, size) => {
  return [await scene.start([`--workers=${size}`])];
});
