import { deepEqual } from "#base";
import { isConflict, isNotFound, type Resource } from "#meta";
import {
  bodyOf,
  listAll,
  defaultDeleteOptions,
  defaultWriteOptions,
  type ServerAccess,
  loopbackRequest,
} from "#registry";

/** Default objects of one cluster-scoped kind. */
export interface DefaultObjects {
  readonly resource: Resource;
  readonly wanted: readonly any[];
  readonly fieldManager: string;
  /** The desired state of an existing object. */
  readonly repaired: (present: any, wanted: any) => any;
  /** Whether an existing object that is no longer a default was created by an API server: delete it. */
  readonly isObsolete: (present: any) => boolean;
}

/**
 * Creates missing objects, repairs existing ones and deletes obsolete ones. Ignores conflicts: other
 * replicas write the same.
 */
export async function ensureDefaultObjects(
  options: ServerAccess,
  defaults: DefaultObjects,
): Promise<void> {
  const { registry, signal } = options;
  const { resource, wanted, fieldManager } = defaults;
  const present = new Map<string, any>();
  const all = loopbackRequest(resource, {}, { signal });
  const list = await registry.list(all, listAll);
  for await (const { object } of list.items) present.set(object.metadata.name, object);
  const write = { ...defaultWriteOptions, fieldManager };
  const one = async (object: any): Promise<unknown> => {
    const { name } = object.metadata;
    const found = present.get(name);
    if (found === undefined) {
      return registry.create(all, bodyOf(resource, object), write);
    }
    const repaired = defaults.repaired(found, object);
    if (deepEqual(repaired, found)) return undefined;
    return registry.update(
      loopbackRequest(resource, { name }, { signal }),
      bodyOf(resource, repaired),
      write,
    );
  };
  const names = new Set(wanted.map(({ metadata }) => metadata.name));
  const obsolete = [...present.values()].filter(
    (object) => !names.has(object.metadata.name) && defaults.isObsolete(object),
  );
  const remove = ({ metadata: { name, uid } }: any) => {
    const target = loopbackRequest(resource, { name }, { signal });
    return registry.delete(target, { ...defaultDeleteOptions, preconditions: { uid } });
  };
  const work = [...wanted.map(one), ...obsolete.map(remove)];
  await Promise.all(work.map((each) => each.catch(ignoreOthers)));
}

function ignoreOthers(error: unknown): void {
  if (!isConflict(error) && !isNotFound(error)) throw error;
}
