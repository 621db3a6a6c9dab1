import { cryptoRandom } from "#base";
import type { Resource } from "#meta";
import { apiserver, apiserverAgent, type ServerAccess } from "#registry";
import type { ApiObject } from "../contract.ts";
import { reflect, type ReflectorSink } from "./reflector.ts";
import { RegistryClient } from "../registry-client.ts";

interface FollowedStore {
  /** Resolves when all objects of now are known, or when nothing will be any more. */
  readonly ready: Promise<void>;
  /** Resolves when the signal has ended it. */
  readonly done: Promise<void>;
}

/** Short delays: there is no network in between, and authorization depends on these objects. */
const delays = { firstMs: 250, longestMs: 5_000 };

/** Follows a resource in the registry of this process, in the name of the server itself. */
export function followStored<T extends ApiObject>(
  { group, version, plural, kind }: Resource,
  sink: ReflectorSink<T>,
  access: ServerAccess,
): FollowedStore {
  const namespaced = kind.scope === "Namespaced";
  const resource = { group, version, plural, kind: kind.kind, namespaced };
  const client = new RegistryClient({ ...access, user: apiserver, userAgent: apiserverAgent });
  let known: () => void = () => undefined;
  const first = new Promise<void>((resolve) => (known = resolve));
  const replaced = (objects: readonly T[]): void => {
    sink.replaced(objects);
    known();
  };
  const told = { replaced, changed: sink.changed };
  const done = reflect({ ...access, client, resource, sink: told, random: cryptoRandom, delays });
  return { ready: Promise.race([first, done]), done };
}
