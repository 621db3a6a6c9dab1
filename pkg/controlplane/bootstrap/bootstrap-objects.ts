import { bootstrapObjects } from "#api";
import { type Catalog, ignoreConflict } from "#meta";
import { bodyOf, defaultWriteOptions, type Registry, loopbackRequest } from "#registry";

/** Creates system namespaces and priority classes; conflicts with other replicas are ignored. */
export async function bootstrap(
  registry: Registry,
  catalog: Catalog,
  signal: AbortSignal,
): Promise<void> {
  for (const { kind, object } of bootstrapObjects) {
    const resource = catalog.resources.find((candidate) => candidate.kind === kind);
    if (resource === undefined) continue;
    const target = loopbackRequest(resource, {}, { signal });
    await registry
      .create(target, bodyOf(resource, object), defaultWriteOptions)
      .catch(ignoreConflict);
  }
}
