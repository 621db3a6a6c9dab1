import { assert } from "#base";
import type { Resource } from "#meta";
import type { Item, WriteResponse } from "../contract.ts";
import type { RegistryContext } from "../context.ts";

const noBytes = new Uint8Array(0);

/** An item that lies in no store; readers encode its object. */
export function virtualItem(resource: Resource, object: any, revision: number): Item {
  return { resource, key: "", bytes: noBytes, revision, object };
}

/** What subresources speak beside the kinds of the catalog. */
export function subresourceKind(
  { subresourceKinds }: RegistryContext,
  groupVersion: string,
  kind: string,
): Resource {
  const resource = subresourceKinds.findKind(groupVersion, kind);
  assert(resource !== undefined, `${kind} is declared`);
  return resource;
}

/** 201 and a Status, for what is created but can never be read. */
export function createdStatus(
  registry: RegistryContext,
  warnings: readonly string[],
): WriteResponse {
  const resource = subresourceKind(registry, "v1", "Status");
  const object = { metadata: {}, status: "Success", code: 201 };
  return { item: virtualItem(resource, object, 0), created: true, warnings };
}
