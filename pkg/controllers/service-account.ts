import type { Resource } from "#meta";
import { type ControllerOptions, isConflict, isNotFound, observe, targetOf } from "./access.ts";
import { WorkQueue } from "./work-queue.ts";

const defaultName = "default";

/** Keeps a service account `default` in every namespace that is not being deleted. */
export async function runServiceAccountController(options: ControllerOptions): Promise<void> {
  const namespaces = options.catalog.find("", "v1", "namespaces");
  const accounts = options.catalog.find("", "v1", "serviceaccounts");
  if (namespaces === undefined || accounts === undefined) return;
  const active = new Set<string>();
  const queue = new WorkQueue({
    ...options,
    work: async (namespace) => {
      if (active.has(namespace)) await ensureDefault(options, accounts, namespace);
    },
  });
  await Promise.all([
    queue.run(),
    observe(options, namespaces, {
      restarted: () => active.clear(),
      changed: (item, type) => {
        const { name, deletionTimestamp } = item.object.metadata;
        if (type === "DELETED" || deletionTimestamp) active.delete(name);
        else if (!active.has(name)) queue.add(active.add(name) && name);
      },
    }),
    observe(options, accounts, {
      restarted: () => {},
      changed: (item, type) => {
        const { name, namespace } = item.object.metadata;
        if (type === "DELETED" && name === defaultName) queue.add(namespace);
      },
    }),
  ]);
}

async function ensureDefault(
  { registry, signal }: ControllerOptions,
  resource: Resource,
  namespace: string,
): Promise<void> {
  const body = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: defaultName } };
  try {
    await registry.create(
      targetOf(resource, { namespace }, signal),
      { bytes: Buffer.from(JSON.stringify(body)), format: "json" },
      { dryRun: false, fieldManager: "", fieldValidation: "Ignore" },
    );
  } catch (error) {
    // Somebody else made it, or the namespace went away meanwhile.
    if (!isConflict(error) && !isNotFound(error) && !isTerminating(error)) throw error;
  }
}

function isTerminating(error: unknown): boolean {
  return (error as { readonly code?: unknown }).code === 403;
}
