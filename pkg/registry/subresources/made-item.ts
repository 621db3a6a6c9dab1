import { assert } from "#base";
import type { Resource } from "#meta";
import type { Item, WriteAnswer } from "../contract.ts";
import type { Environment } from "../context.ts";

const noBytes = new Uint8Array(0);

/** An item that lies in no store; readers encode its object. */
export function madeItem(resource: Resource, object: any, revision: number): Item {
  return { resource, key: "", bytes: noBytes, revision, object };
}

/** What subresources speak beside the kinds of the catalog. */
export function spokenResource(
  { spoken }: Environment,
  groupVersion: string,
  kind: string,
): Resource {
  const resource = spoken.findKind(groupVersion, kind);
  assert(resource !== undefined, `${kind} is declared`);
  return resource;
}

/** 201 and a Status, for what is created but can never be read. */
export function created(environment: Environment, warnings: readonly string[]): WriteAnswer {
  const resource = spokenResource(environment, "v1", "Status");
  const object = { metadata: {}, status: "Success", code: 201 };
  return { item: madeItem(resource, object, 0), created: true, warnings };
}
