import { RequeueAfter } from "#client";
import { type Namespace, namespaces } from "#kinds";
import { formatSeconds, ignoreNotFound } from "#meta";
import { type ControllerContext, enqueueOnChange, newWorkQueue } from "../controller-context.ts";
import { deletionConditions, mergeConditions } from "./namespace-deletion-conditions.ts";
import { deleteAllContent } from "./namespaced-resources-deleter.ts";

/** The finalizer in `spec.finalizers` that this controller removes from an empty namespace. */
const kubernetesFinalizer = "kubernetes";
/** Backoff while objects wait for their finalizers. */
const firstLookMs = 100;
const longestLookMs = 10_000;

export interface NamespaceOptions {
  /**
   * Time for which other API servers may still treat a deleted namespace as active and create
   * objects in it; it is not finalized before.
   */
  readonly settleMs: number;
  /** Number of namespaces processed concurrently. */
  readonly namespaceWorkers: number;
}

/** Deletes the content of terminating namespaces, then finalizes them. */
export async function runNamespaceController(
  context: ControllerContext,
  { settleMs, namespaceWorkers: workers }: NamespaceOptions,
): Promise<void> {
  const delays = { firstMs: firstLookMs, longestMs: longestLookMs };
  const queue = newWorkQueue({ ...context, delays }, "namespace");
  const seen = new Map<string, number>();
  const all = context.informers.of(namespaces);
  enqueueOnChange(queue, all, ({ type, object }) => {
    const { name, uid, deletionTimestamp } = object.metadata;
    const isNew = deletionTimestamp !== undefined && !seen.has(uid);
    if (type === "deleted") seen.delete(uid);
    else if (isNew) seen.set(uid, context.clock.monotonic());
    return deletionTimestamp === undefined || type === "deleted" ? [] : [name];
  });
  const work = async (name: string) => {
    const namespace = await context.client.get(namespaces, { name }).catch(ignoreNotFound);
    if (namespace?.metadata.deletionTimestamp === undefined) return;
    const since = seen.get(namespace.metadata.uid) ?? context.clock.monotonic();
    await finish(context, namespace, since + settleMs);
  };
  await queue.run(work, { workers });
}

async function finish(
  context: ControllerContext,
  namespace: Namespace,
  settledAt: number,
): Promise<void> {
  const { client, clock } = context;
  const { name, uid } = namespace.metadata;
  const finalizers = namespace.spec?.finalizers ?? [];
  if (finalizers.includes(kubernetesFinalizer)) {
    const emptying = await deleteAllContent(context, name);
    const told = await tell(context, namespace, emptying);
    const { failures, remaining, discoveryFailures } = emptying;
    if (failures.length + discoveryFailures.length > 0) {
      throw new Error([...discoveryFailures, ...failures].join("; "));
    }
    if (remaining.size > 0) throw new RequeueAfter(`${name} is not empty`);
    const settling = settledAt - clock.monotonic();
    if (settling > 0) throw new RequeueAfter(`${name} is settling`, settling);
    const left = finalizers.filter((finalizer) => finalizer !== kubernetesFinalizer);
    const final = { ...told, spec: { ...told.spec, finalizers: left } };
    await client.update(namespaces, final, { subresource: "finalize" });
  }
  await client.delete(namespaces, { name }, { preconditions: { uid } }).catch(ignoreNotFound);
}

/** Updates the deletion conditions of the namespace if they changed. */
async function tell(
  { client, clock }: ControllerContext,
  namespace: Namespace,
  emptying: Parameters<typeof deletionConditions>[0],
): Promise<Namespace> {
  const now = formatSeconds({ seconds: Math.floor(clock.now() / 1000), nanos: 0 });
  const before = namespace.status?.conditions ?? [];
  const conditions = mergeConditions(before, deletionConditions(emptying), now);
  if (conditions === before) return namespace;
  const next = { ...namespace, status: { ...namespace.status, conditions } };
  return client.update(namespaces, next, { subresource: "status" });
}
