import { assert } from "#base";
import { notFound, type Resource, StatusError } from "#meta";
import type { ResourceRequest } from "../contract.ts";
import type { RegistryContext } from "../context.ts";
import { get } from "../read/get.ts";

/**
 * Reads an object of the core group in the namespace of the request. As in kube-apiserver, its 404 names
 * the resource of the request, whatever the resource that is missing.
 */
export async function coreObject(
  registry: RegistryContext,
  request: ResourceRequest,
  { plural, name }: { readonly plural: string; readonly name: string },
): Promise<any> {
  const resource: Resource | undefined = registry.catalog.find("", "v1", plural);
  assert(resource !== undefined, `the catalog has ${plural}`);
  const namespace = resource.kind.scope === "Cluster" ? "" : request.namespace;
  const where = { ...request, resource, namespace, name, subresource: "" };
  try {
    return (await get(registry, where, { resourceVersion: "" })).object;
  } catch (error) {
    if (!(error instanceof StatusError) || error.status.reason !== "NotFound") throw error;
    throw notFound(request.resource, name);
  }
}
