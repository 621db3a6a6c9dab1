/**
 * Leases of nodes, each renewed every 10 s: the latency of renewals at the rate that the number of
 * Leases requires, whether or not earlier ones have completed. The knee is where renewals no longer
 * keep up.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { Connection } from "../load/client.ts";
import { cpuOfTree, quantile } from "../load/processes.ts";
import { Client, type Scenario } from "./scenario.ts";
import { digits, storeClones } from "./stored.ts";

const namespace = "scale-leases";
const collection = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`;
const leaseName = (n: number): string => `node-${digits(n)}`;
const renewalSeconds = 10;
const sessions = 8;
const tickMs = 5;

function lease(name: string, resourceVersion?: string): object {
  const renewTime = new Date().toISOString().replace("Z", "000Z");
  const spec = { holderIdentity: name, leaseDurationSeconds: 40, renewTime };
  const metadata = { name, ...(resourceVersion !== undefined && { resourceVersion }) };
  return { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata, spec };
}

export const leases: Scenario = {
  sizeName: "leases",
  sizes: [3_000, 5_000, 10_000, 20_000, 30_000, 50_000, 100_000],
  smallSizes: [200, 400, 800],
  async *measure(scene, sizes) {
    const server = await scene.start();
    const client = new Client(server.aim);
    await client.createNamespace(namespace);
    await client.create(collection, lease(leaseName(0)));
    let there = 1;
    for (const size of sizes) {
      await storeClones({
        endpoint: scene.endpoint,
        key: `/registry/leases/${namespace}/${leaseName(0)}`,
        replace: (n) => [[leaseName(0), leaseName(n)]],
        from: there,
        to: size,
      });
      there = size;
      const { items } = await client.getObject(collection);
      const versions = items.map((each: any) => each.metadata.resourceVersion as string);
      const before = cpuOfTree(server.pid);
      const renewed = await renew(server.aim, versions, scene.seconds);
      if (renewed.refused > 0) {
        console.log(`with ${size}, the server reset the streams of ${renewed.refused} renewals`);
        break;
      }
      const costs = {
        "renewals/s": renewed.perSecond,
        "p50 ms": quantile(renewed.latencies, 0.5),
        "p99 ms": quantile(renewed.latencies, 0.99),
        "CPU us per renewal": (cpuOfTree(server.pid) - before) / renewed.latencies.length,
      };
      yield { size, costs };
    }
    client.close();
  },
};

interface Renewed {
  readonly perSecond: number;
  readonly latencies: readonly number[];
  /** Number of renewals whose streams an overloaded server reset. */
  readonly refused: number;
}

/** Renews Leases evenly over time at a tenth of their number per second, for some seconds. */
async function renew(
  aim: Client["aim"],
  versions: readonly string[],
  seconds: number,
): Promise<Renewed> {
  const connections = Array.from({ length: sessions }, () => new Connection(aim));
  const latencies: number[] = [];
  let refused = 0;
  const pending: Promise<void>[] = [];
  const perMs = versions.length / renewalSeconds / 1_000;
  const count = Math.floor(Math.min(versions.length, perMs * seconds * 1_000));
  const began = performance.now();
  const send = async (n: number): Promise<void> => {
    const due = began + n / perMs;
    const name = leaseName(n);
    const body = Buffer.from(JSON.stringify(lease(name, versions[n])));
    const path = `${collection}/${name}`;
    const answer = await connections[n % sessions]!.call("PUT", path, { body }).catch(() => {
      refused++;
    });
    if (answer === undefined) return;
    const { status, body: message } = answer;
    if (status !== 200) throw new Error(`${name}: ${status} ${message.toString()}`);
    latencies.push(performance.now() - due);
  };
  for (let next = 0; next < count;) {
    const due = Math.min(count, Math.floor((performance.now() - began) * perMs));
    for (; next < due; next++) pending.push(send(next));
    await sleep(tickMs);
  }
  await Promise.all(pending);
  for (const connection of connections) connection.close();
  const perSecond = (latencies.length * 1_000) / (performance.now() - began);
  return { perSecond, latencies, refused };
}
