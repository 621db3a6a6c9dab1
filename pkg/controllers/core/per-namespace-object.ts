import type { ApiObject, Draft, Handle } from "#client";
import { type Namespace, namespaces } from "#kinds";
import { isConflict, isNotFound } from "#meta";
import {
  type ControllerContext,
  enqueueOnChange,
  isTerminating,
  newWorkQueue,
} from "../controller-context.ts";

/** An object to maintain in every namespace. */
export interface PerNamespaceObject<T extends ApiObject> {
  readonly controller: string;
  readonly resource: Handle<T>;
  readonly name: string;
  readonly annotations?: Readonly<Record<string, string>>;
  /** Desired content of the object, without metadata. */
  readonly content: Omit<T, "metadata">;
  /** The desired state of an existing object; the same object = no change. */
  readonly repaired?: (present: T) => T;
}

/** Maintains one object in every active namespace. */
export async function runPerNamespaceObject<T extends ApiObject>(
  context: ControllerContext,
  wanted: PerNamespaceObject<T>,
): Promise<void> {
  const { informers, client } = context;
  const { controller, resource, name, annotations, content } = wanted;
  const { repaired = (present: T) => present } = wanted;
  const queue = newWorkQueue(context, controller);
  const all = informers.of(namespaces);
  const present = informers.of(resource, { fieldSelector: `metadata.name=${name}` });
  enqueueOnChange(queue, all, ({ type, object }) =>
    type === "added" ? [object.metadata.name] : [],
  );
  enqueueOnChange(queue, present, ({ type, object }) =>
    type === "added" ? [] : [object.metadata.namespace ?? ""],
  );
  await Promise.all([all.untilSynced(), present.untilSynced()]);
  await queue.run(async (namespace) => {
    if (!isActive(all.get(namespace))) return;
    const found = present.get(`${namespace}/${name}`);
    if (found === undefined) {
      const metadata = { name, namespace, ...(annotations && { annotations }) };
      const draft = { ...content, metadata } as Draft<T>;
      await client.create(resource, draft).catch(ignoreExpected);
      return;
    }
    const desired = repaired(found);
    if (desired !== found) await client.update(resource, desired as Draft<T>);
  });
}

function isActive(namespace: Namespace | undefined): boolean {
  return namespace !== undefined && namespace.metadata.deletionTimestamp === undefined;
}

/** Ignores the errors that the object exists, and that its namespace is terminating or absent. */
function ignoreExpected(error: unknown): void {
  if (!isConflict(error) && !isNotFound(error) && !isTerminating(error)) throw error;
}
