import type { CustomResourceDefinition } from "#api";
import type { Resource } from "#meta";
import { defaultWriteOptions, loopbackRequest } from "#registry";
import { toJson } from "#schema";
import type { DefinitionOptions } from "./options.ts";

/** RFC 3339 with a resolution of seconds. */
export function timestamp(milliseconds: number): string {
  return `${new Date(milliseconds).toISOString().slice(0, 19)}Z`;
}

/**
 * Updates the status and returns the updated definition.
 * @throws StatusError 409 if the definition's resourceVersion is outdated
 */
export async function writeStatus(
  { registry, signal }: DefinitionOptions,
  resource: Resource,
  definition: CustomResourceDefinition,
): Promise<CustomResourceDefinition> {
  const { name = "" } = definition.metadata;
  const typeMeta = { kind: resource.kind.kind, apiVersion: resource.groupVersion };
  const body = toJson(resource.struct, definition, typeMeta);
  const { item } = await registry.update(
    loopbackRequest(resource, { name, subresource: "status" }, { signal }),
    { bytes: Buffer.from(body), format: "json" },
    defaultWriteOptions,
  );
  return item.object;
}
