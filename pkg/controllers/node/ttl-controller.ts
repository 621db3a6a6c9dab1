import { nodes as nodeHandle } from "#kinds";
import { resolve } from "#meta";
import { type ControllerContext, newWorkQueue } from "../controller-context.ts";

/** TTLs by cluster size; ranges overlap (hysteresis), so that small variations do not change all nodes. */
const clusterSizes = [
  { minNodes: 0, maxNodes: 100, ttlSeconds: 0 },
  { minNodes: 90, maxNodes: 500, ttlSeconds: 15 },
  { minNodes: 450, maxNodes: 1_000, ttlSeconds: 30 },
  { minNodes: 900, maxNodes: 2_000, ttlSeconds: 60 },
  { minNodes: 1_800, maxNodes: Infinity, ttlSeconds: 300 },
] as const;

const workers = 5;

/**
 * Annotates nodes with the TTL in seconds of their kubelet's Secret and ConfigMap cache, which grows with
 * the number of nodes.
 */
export async function runTtlController(context: ControllerContext): Promise<void> {
  const { client, informers } = context;
  const annotation = resolve("node.alpha.{label}/ttl", client.domain);
  const queue = newWorkQueue(context, "ttlcontroller");
  const nodes = informers.of(nodeHandle);
  let count = 0;
  let step = 0;
  nodes.subscribe(({ type, object }) => {
    if (type === "added") count++;
    if (type === "deleted") count--;
    if (count > clusterSizes[step]!.maxNodes) step++;
    if (count < clusterSizes[step]!.minNodes) step--;
    // Other nodes are updated on their next change, e.g. a status update of the kubelet.
    if (type !== "deleted") queue.add(object.metadata.name);
  });
  await nodes.untilSynced();
  const sync = async (name: string) => {
    const node = nodes.get(name);
    const ttl = String(clusterSizes[step]!.ttlSeconds);
    if (node === undefined || node.metadata.annotations?.[annotation] === ttl) return;
    const { uid } = node.metadata;
    const body = { metadata: { uid, annotations: { [annotation]: ttl } } };
    await client.patch(nodeHandle, { name }, { type: "merge", body });
  };
  await queue.run(sync, { workers });
}
