import { bootstrapObjects } from "#api";
import { type Catalog, ignoreConflict } from "#meta";
import { bodyOf, defaultWriteOptions, type Registry, loopbackRequest } from "#registry";

/**
 * Makes the objects that every server has; another replica may be making them at the same moment.
 */
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
