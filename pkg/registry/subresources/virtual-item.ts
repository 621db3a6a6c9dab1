import { assert } from "#base";
import type { Resource } from "#meta";
import type { Item, WriteResponse } from "../contract.ts";
import type { RegistryContext } from "../context.ts";

const noBytes = new Uint8Array(0);

/** An item that is not stored: it has no encoded bytes. */
export function virtualItem(resource: Resource, object: any, revision: number): Item {
  return { resource, key: "", bytes: noBytes, revision, object };
}

/** A kind that is only the body of subresources or a response, such as Scale, Eviction and Status. */
export function subresourceKind(
  { subresourceKinds }: RegistryContext,
  groupVersion: string,
  kind: string,
): Resource {
  const resource = subresourceKinds.findKind(groupVersion, kind);
  assert(resource !== undefined, `${kind} is declared`);
  return resource;
}

/** A 201 with a Status, for kinds that can be created but not read. */
export function createdStatus(
  registry: RegistryContext,
  warnings: readonly string[],
): WriteResponse {
  const resource = subresourceKind(registry, "v1", "Status");
  const object = { metadata: {}, status: "Success", code: 201 };
  return { item: virtualItem(resource, object, 0), created: true, warnings };
}
