import { cryptoRandom } from "#base";
import type { Resource } from "#meta";
import { apiserver, apiserverAgent, type ServerAccess } from "#registry";
import type { ApiObject } from "../contract.ts";
import { reflect, type ReflectorSink } from "./reflector.ts";
import { RegistryClient } from "../registry-client.ts";

interface FollowedCollection {
  /** Resolves after the initial list, or when the signal has aborted. */
  readonly ready: Promise<void>;
  /** Resolves after the signal has aborted. */
  readonly done: Promise<void>;
}

/** Short backoff: there is no network in between, and authorization depends on these objects. */
const delays = { firstMs: 250, maxMs: 5_000 };

/** Runs a reflector on a resource of this process's registry, as the API server's user. */
export function followStored<T extends ApiObject>(
  { group, version, plural, kind }: Resource,
  sink: ReflectorSink<T>,
  access: ServerAccess,
): FollowedCollection {
  const namespaced = kind.scope === "Namespaced";
  const resource = { group, version, plural, kind: kind.kind, namespaced };
  const client = new RegistryClient({ ...access, user: apiserver, userAgent: apiserverAgent });
  let synced: () => void = () => undefined;
  const first = new Promise<void>((resolve) => (synced = resolve));
  const replaced = (objects: readonly T[]): void => {
    sink.replaced(objects);
    synced();
  };
  const notifyingSink = { replaced, changed: sink.changed };
  const options = { client, resource, sink: notifyingSink, random: cryptoRandom, delays };
  const done = reflect({ ...access, ...options });
  return { ready: Promise.race([first, done]), done };
}
