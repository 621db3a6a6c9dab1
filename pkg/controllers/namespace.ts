import type { Resource } from "#meta";
import type { Item } from "#registry";
import {
  collectableResources,
  type ControllerOptions,
  everything,
  isNotFound,
  observe,
  plainDelete,
  targetOf,
} from "./access.ts";
import { WorkQueue } from "./work-queue.ts";

/** The finalizer in `spec.finalizers` that this controller takes away when a namespace is empty. */
const kubernetesFinalizer = "kubernetes";

/** Empties namespaces that are being deleted, then lets them go. */
export async function runNamespaceController(options: ControllerOptions): Promise<void> {
  const resource = options.catalog.find("", "v1", "namespaces");
  if (resource === undefined) return;
  const queue = new WorkQueue({
    ...options,
    work: (name) => finish(options, resource, name),
  });
  const changed = (item: Item, type: string) => {
    const { metadata } = item.object;
    if (type !== "DELETED" && metadata.deletionTimestamp) queue.add(metadata.name);
  };
  await Promise.all([queue.run(), observe(options, resource, { restarted: () => {}, changed })]);
}

async function finish(options: ControllerOptions, resource: Resource, name: string): Promise<void> {
  const { registry, signal } = options;
  const item = await registry
    .get(targetOf(resource, { name }, signal), { resourceVersion: "" })
    .catch(ignoreNotFound);
  if (item === undefined || !item.object.metadata.deletionTimestamp) return;
  const finalizers: readonly string[] = item.object.spec?.finalizers ?? [];
  if (finalizers.includes(kubernetesFinalizer)) {
    const remaining = await emptyNamespace(options, name);
    if (remaining !== undefined) throw new Error(`${name} still has ${remaining}`);
    await finalize(options, item);
  }
  await registry
    .delete(targetOf(resource, { name }, signal), {
      ...plainDelete,
      preconditions: { uid: item.object.metadata.uid },
    })
    .catch(ignoreNotFound);
}

function ignoreNotFound(error: unknown): undefined {
  if (!isNotFound(error)) throw error;
}

/** Deletes all objects of all kinds; answers the plural of a kind that still has some. */
async function emptyNamespace(
  { registry, catalog, signal }: ControllerOptions,
  namespace: string,
): Promise<string | undefined> {
  let remaining: string | undefined;
  for (const resource of collectableResources(catalog)) {
    if (resource.kind.scope !== "Namespaced") continue;
    const target = targetOf(resource, { namespace }, signal);
    const deleted = await registry.deleteCollection(target, everything, plainDelete);
    for await (const item of deleted.items) void item;
    const left = await registry.list(target, { ...everything, limit: 1 });
    for await (const item of left.items) remaining = item.resource.plural;
  }
  return remaining;
}

async function finalize({ registry, signal }: ControllerOptions, item: Item): Promise<void> {
  const { object, resource } = item;
  const finalizers = object.spec.finalizers.filter((name: string) => name !== kubernetesFinalizer);
  const body = {
    kind: resource.kind.kind,
    apiVersion: resource.groupVersion,
    ...object,
    spec: { ...object.spec, finalizers },
  };
  await registry.update(
    targetOf(resource, { name: object.metadata.name, subresource: "finalize" }, signal),
    { bytes: Buffer.from(JSON.stringify(body)), format: "json" },
    { dryRun: false, fieldManager: "", fieldValidation: "Ignore" },
  );
}
