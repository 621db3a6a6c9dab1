import { bootstrapObjects } from "#api";
import { ignoreConflict, isNotFound } from "#meta";
import { bodyOf, defaultWriteOptions, loopbackRequest, type ServerAccess } from "#registry";
import { type Clock, realClock } from "#base";

/** Interval of kube-apiserver's controller. */
const intervalMs = 60_000;

/** Recreates deleted system namespaces every minute until the signal aborts. */
export async function runSystemNamespaces(
  access: ServerAccess & {
    readonly clock: Clock;
    readonly report: (what: string, error: unknown) => void;
  },
): Promise<void> {
  const { clock, signal, report } = access;
  for (;;) {
    await realClock(clock)
      .sleep(intervalMs, signal, { background: true })
      .catch(() => undefined);
    if (signal.aborted) return;
    await ensureSystemNamespaces(access).catch((error: unknown) => {
      if (!signal.aborted) report("Failed to restore the system namespaces", error);
    });
  }
}

async function ensureSystemNamespaces(access: ServerAccess): Promise<void> {
  const { registry, catalog, signal } = access;
  const resource = catalog.find("", "v1", "namespaces");
  if (resource === undefined) return;
  for (const { kind, object } of bootstrapObjects) {
    if (kind !== resource.kind) continue;
    const { name } = object["metadata"] as { readonly name: string };
    const one = loopbackRequest(resource, { name }, { signal });
    const found = await registry.get(one, { resourceVersion: "" }).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
    if (found !== undefined) continue;
    // Another replica may create it concurrently.
    await registry
      .create(
        loopbackRequest(resource, {}, { signal }),
        bodyOf(resource, object),
        defaultWriteOptions,
      )
      .catch(ignoreConflict);
  }
}
