import { bootstrapObjects } from "#api";
import { type Catalog, StatusError } from "#meta";
import type { Registry } from "#registry";
import type { User } from "#request";

/** Who the server is to itself. */
export const apiserver: User = {
  name: "system:apiserver",
  uid: "",
  groups: ["system:masters", "system:authenticated"],
  extra: new Map(),
};

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
    const target = {
      resource,
      namespace: "",
      name: "",
      subresource: "",
      user: apiserver,
      signal,
      userAgent: "keelson",
    };
    const typeMeta = { kind: kind.kind, apiVersion: resource.groupVersion };
    const bytes = Buffer.from(JSON.stringify({ ...typeMeta, ...object }));
    const options = { dryRun: false, fieldManager: "", fieldValidation: "Ignore" } as const;
    try {
      await registry.create(target, { bytes, format: "json" }, options);
    } catch (error) {
      if (!(error instanceof StatusError && error.code === 409)) throw error;
    }
  }
}
