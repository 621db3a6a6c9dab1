import { deepClone } from "#base";
import { notFound } from "#meta";
import type { Target } from "../contract.ts";
import type { Environment } from "../environment.ts";
import { encodeStored, keyOf, setResourceVersion, StoredItem } from "../stored.ts";

interface StoredChange {
  /** What must hold of what is there; throws a StatusError where it does not. */
  readonly check?: (current: StoredItem) => void;
  /** Changes the object in place, or throws a StatusError; runs again when others are faster. */
  readonly change: (object: any) => void;
  readonly dryRun: boolean;
}

/**
 * Changes a stored object past its kind's rules and past admission, for subresources that know what
 * they do. Answers what is there afterwards. Throws 404.
 */
export async function changeStored(
  environment: Environment,
  target: Target,
  { check, change, dryRun }: StoredChange,
): Promise<StoredItem> {
  const { store } = environment;
  const { signal } = target;
  const key = keyOf(target);
  let { entry } = await store.get(key, { signal });
  for (;;) {
    signal.throwIfAborted();
    if (entry === undefined) throw notFound(target.resource, target.name);
    const current = new StoredItem(environment, target, entry);
    check?.(current);
    const object = deepClone(current.object);
    change(object);
    const value = encodeStored(environment, target.resource, object);
    if (dryRun) return new StoredItem(environment, target, { ...entry, value }, { object });
    if (Buffer.compare(value, entry.value) === 0) return current;
    const outcome = await store.update(key, entry.modRevision, value, { signal });
    if (outcome.done) {
      setResourceVersion(object, outcome.entry.modRevision);
      return new StoredItem(environment, target, outcome.entry, { object });
    }
    entry = outcome.current;
  }
}
