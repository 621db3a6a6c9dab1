import { type ApiObject, followStored, type ReflectorSink } from "#client";
import type { ServerAccess } from "#registry";
import { objectKey } from "./rbac/rbac-index.ts";

/** Index of the objects of one kind. Keys are `namespace/name`. */
export interface ObjectIndex {
  readonly set: (object: any) => void;
  readonly delete: (key: string) => void;
  readonly keys: () => Iterable<string>;
}

/** A kind that an authorizer watches: `rbac.authorization.k8s.io`, `v1`, `roles`. */
export interface FollowedKind {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly index: ObjectIndex;
}

/**
 * Keeps indexes in sync with the store until the signal aborts. Resolves when they contain all stored
 * objects. Skips kinds that are not served.
 */
export async function followKinds(
  all: readonly FollowedKind[],
  access: ServerAccess,
): Promise<void> {
  const synced = all.map(({ group, version, plural, index }) => {
    const resource = access.catalog.find(group, version, plural);
    return resource && followStored(resource, indexSink(index), access).ready;
  });
  await Promise.all(synced);
}

/** Applies events of a reflector to an index. */
function indexSink(index: ObjectIndex): ReflectorSink<ApiObject> {
  return {
    replaced: (objects) => {
      const stored = new Set(objects.map(keyOf));
      const deleted = Array.from(index.keys()).filter((key) => !stored.has(key));
      for (const key of deleted) index.delete(key);
      for (const object of objects) index.set(object);
    },
    changed: (type, object) => {
      if (type === "DELETED") index.delete(keyOf(object));
      else index.set(object);
    },
  };
}

function keyOf({ metadata }: ApiObject): string {
  return objectKey(metadata.namespace, metadata.name);
}
