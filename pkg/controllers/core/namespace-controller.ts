import { RequeueAfter } from "#client";
import { type Namespace, namespaces } from "#kinds";
import { formatSeconds, ignoreNotFound } from "#meta";
import { type ControllerContext, enqueueOnChange, newWorkQueue } from "../controller-context.ts";
import { deletionConditions, mergeConditions } from "./namespace-deletion-conditions.ts";
import { deleteAllContent } from "./namespaced-resources-deleter.ts";

/** The finalizer in `spec.finalizers` that this controller removes from an empty namespace. */
const kubernetesFinalizer = "kubernetes";
/** Backoff while content remains, e.g. because of finalizers. */
const minBackoffMs = 100;
const maxBackoffMs = 10_000;

export interface NamespaceOptions {
  /**
   * Minimum time in ms from deletion to finalization: other API servers may treat the namespace as active
   * for this long, and create objects in it.
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
  const delays = { firstMs: minBackoffMs, maxMs: maxBackoffMs };
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
    await syncNamespace(context, namespace, since + settleMs);
  };
  await queue.run(work, { workers });
}

async function syncNamespace(
  context: ControllerContext,
  namespace: Namespace,
  settledAt: number,
): Promise<void> {
  const { client, clock } = context;
  const { name, uid } = namespace.metadata;
  const finalizers = namespace.spec?.finalizers ?? [];
  if (finalizers.includes(kubernetesFinalizer)) {
    const deletion = await deleteAllContent(context, name);
    const updated = await updateConditions(context, namespace, deletion);
    const { failures, remaining, discoveryFailures } = deletion;
    if (failures.length + discoveryFailures.length > 0) {
      throw new Error([...discoveryFailures, ...failures].join("; "));
    }
    if (remaining.size > 0) throw new RequeueAfter(`${name} is not empty`);
    const settling = settledAt - clock.monotonic();
    if (settling > 0) throw new RequeueAfter(`${name} was deleted too recently`, settling);
    const left = finalizers.filter((finalizer) => finalizer !== kubernetesFinalizer);
    const final = { ...updated, spec: { ...updated.spec, finalizers: left } };
    await client.update(namespaces, final, { subresource: "finalize" });
  }
  await client.delete(namespaces, { name }, { preconditions: { uid } }).catch(ignoreNotFound);
}

/** Updates the deletion conditions of the namespace if they changed. */
async function updateConditions(
  { client, clock }: ControllerContext,
  namespace: Namespace,
  deletion: Parameters<typeof deletionConditions>[0],
): Promise<Namespace> {
  const now = formatSeconds({ seconds: Math.floor(clock.now() / 1000), nanos: 0 });
  const before = namespace.status?.conditions ?? [];
  const conditions = mergeConditions(before, deletionConditions(deletion), now);
  if (conditions === before) return namespace;
  const next = { ...namespace, status: { ...namespace.status, conditions } };
  return client.update(namespaces, next, { subresource: "status" });
}
