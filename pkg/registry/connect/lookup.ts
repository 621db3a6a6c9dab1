import { assert } from "#base";
import type { Resource } from "#meta";
import type { Target } from "../contract.ts";
import type { Environment } from "../context.ts";
import { get } from "../read/get.ts";

/** An object of the core group in the namespace of the request. Throws 404. */
export async function coreObject(
  environment: Environment,
  target: Target,
  { plural, name }: { readonly plural: string; readonly name: string },
): Promise<any> {
  const resource: Resource | undefined = environment.catalog.find("", "v1", plural);
  assert(resource !== undefined, `the catalog has ${plural}`);
  const namespace = resource.kind.scope === "Cluster" ? "" : target.namespace;
  const where = { ...target, resource, namespace, name, subresource: "" };
  return (await get(environment, where, { resourceVersion: "" })).object;
}
