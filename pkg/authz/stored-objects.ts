import { type ApiObject, followStored, type ReflectorSink } from "#client";
import type { ServerAccess } from "#registry";
import { objectKey } from "./rbac/rbac-index.ts";

/** What authorizers keep of one kind. Keys are `namespace/name`. */
export interface ObjectIndex {
  readonly set: (object: any) => void;
  readonly delete: (key: string) => void;
  readonly keys: () => Iterable<string>;
}

/** A kind that an authorizer follows: `rbac.authorization.k8s.io`, `v1`, `roles`. */
export interface FollowedKind {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kept: ObjectIndex;
}

/**
 * Keeps everything followed as it is stored, until the signal aborts. Resolves when what is stored
 * now is known; kinds that are not served are left as they are.
 */
export async function followKinds(
  all: readonly FollowedKind[],
  access: ServerAccess,
): Promise<void> {
  const known = all.map(({ group, version, plural, kept }) => {
    const resource = access.catalog.find(group, version, plural);
    return resource && followStored(resource, keepingUp(kept), access).ready;
  });
  await Promise.all(known);
}

function keepingUp(kept: ObjectIndex): ReflectorSink<ApiObject> {
  return {
    replaced: (objects) => {
      const there = new Set(objects.map(keyOf));
      const gone = Array.from(kept.keys()).filter((key) => !there.has(key));
      for (const key of gone) kept.delete(key);
      for (const object of objects) kept.set(object);
    },
    changed: (type, object) => {
      if (type === "DELETED") kept.delete(keyOf(object));
      else kept.set(object);
    },
  };
}

function keyOf({ metadata }: ApiObject): string {
  return objectKey(metadata.namespace, metadata.name);
}
