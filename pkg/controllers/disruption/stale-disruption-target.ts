import { type Draft, objectKey } from "#client";
import { type Pod, pods as podHandle } from "#kinds";
import { formatSeconds, ignoreNotFound } from "#meta";
import { type ControllerContext, newWorkQueue } from "../controller-context.ts";

/** Time after which condition DisruptionTarget of a pod that is not terminating is stale. */
const staleMs = 120_000;
const type = "DisruptionTarget";

/** Sets stale conditions DisruptionTarget of pods to False. */
export async function runStaleDisruptionTarget(context: ControllerContext): Promise<void> {
  const { client, clock, informers } = context;
  const queue = newWorkQueue(context, "stale_pod_disruption");
  const pods = informers.of(podHandle);
  pods.subscribe(({ type, object }) => {
    const staleAt = type === "deleted" ? undefined : staleTimeOf(object);
    if (staleAt !== undefined) queue.addAfter(objectKey(object), staleAt - clock.now());
  });
  await queue.run(async (key) => {
    const pod = pods.get(key);
    const staleAt = pod && staleTimeOf(pod);
    if (pod === undefined || staleAt === undefined) return;
    if (staleAt > clock.now()) return queue.addAfter(key, staleAt - clock.now());
    const now = formatSeconds({ seconds: Math.floor(clock.now() / 1000), nanos: 0 });
    const observedGeneration = Number(pod.metadata.generation ?? 0);
    const reset = { type, status: "False", lastTransitionTime: now, observedGeneration } as const;
    const conditions = pod.status?.conditions?.map((each) => (each.type === type ? reset : each));
    // The resourceVersion makes the update conditional.
    const draft = { ...pod, status: { ...pod.status, conditions } } as Draft<Pod>;
    await client.update(podHandle, draft, { subresource: "status" }).catch(ignoreNotFound);
  });
}

/** Time at which the condition becomes stale, in milliseconds since 1970; undefined = never. */
function staleTimeOf({ metadata, status }: Pod): number | undefined {
  const found = status?.conditions?.find((each) => each.type === type);
  const hasEnded = status?.phase === "Succeeded" || status?.phase === "Failed";
  if (metadata.deletionTimestamp !== undefined || hasEnded) return undefined;
  // After TerminationByKubelet the pod may take any time to terminate.
  if (found?.status !== "True" || found.reason === "TerminationByKubelet") return undefined;
  return Date.parse(found.lastTransitionTime ?? "1970-01-01T00:00:00Z") + staleMs;
}
