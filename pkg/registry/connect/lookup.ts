import { assert } from "#base";
import { notFound, type Resource, StatusError } from "#meta";
import type { ResourceRequest } from "../contract.ts";
import type { RegistryContext } from "../context.ts";
import { get } from "../read/get.ts";

/**
 * Reads an object of the core group in the namespace of the request. As in kube-apiserver, the 404 for a
 * missing object names the resource of the request instead of that of the object.
 */
export async function coreObject(
  registry: RegistryContext,
  request: ResourceRequest,
  { plural, name }: { readonly plural: string; readonly name: string },
): Promise<any> {
  const resource: Resource | undefined = registry.catalog.find("", "v1", plural);
  assert(resource !== undefined, `the catalog has ${plural}`);
  const namespace = resource.kind.scope === "Cluster" ? "" : request.namespace;
  const lookup = { ...request, resource, namespace, name, subresource: "" };
  try {
    return (await get(registry, lookup, { resourceVersion: "" })).object;
  } catch (error) {
    if (!(error instanceof StatusError) || error.status.reason !== "NotFound") throw error;
    throw notFound(request.resource, name);
  }
}
