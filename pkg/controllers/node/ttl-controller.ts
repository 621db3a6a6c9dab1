import { nodes as nodeHandle } from "#kinds";
import { resolve } from "#meta";
import { type ControllerContext, newWorkQueue } from "../controller-context.ts";

/** Cluster sizes overlap, so that a size that varies a little does not change all nodes. */
const steps = [
  { fewest: 0, most: 100, ttlSeconds: 0 },
  { fewest: 90, most: 500, ttlSeconds: 15 },
  { fewest: 450, most: 1_000, ttlSeconds: 30 },
  { fewest: 900, most: 2_000, ttlSeconds: 60 },
  { fewest: 1_800, most: Infinity, ttlSeconds: 300 },
] as const;

const workers = 5;

/**
 * Annotates nodes with the time in seconds for which their kubelets may cache Secrets and
 * ConfigMaps, which grows with the number of nodes.
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
    if (count > steps[step]!.most) step++;
    if (count < steps[step]!.fewest) step--;
    // Other nodes follow when they change, which kubelets see to.
    if (type !== "deleted") queue.add(object.metadata.name);
  });
  await nodes.untilSynced();
  const sync = async (name: string) => {
    const node = nodes.get(name);
    const ttl = String(steps[step]!.ttlSeconds);
    if (node === undefined || node.metadata.annotations?.[annotation] === ttl) return;
    const { uid } = node.metadata;
    const body = { metadata: { uid, annotations: { [annotation]: ttl } } };
    await client.patch(nodeHandle, { name }, { type: "merge", body });
  };
  await queue.run(sync, { workers });
}
