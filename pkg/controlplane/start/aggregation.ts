import { type ApiServices, Backends } from "#aggregator";
import { cryptoRandom } from "#base";
import { type Registry, serviceReader } from "#registry";
import type { Aggregation } from "#server";
import type { ServerDependencies } from "./build-dependencies.ts";

/** What the server needs to proxy requests to other API servers. */
export function aggregationOf(
  { options, catalog, clock, signal }: ServerDependencies,
  { apiServices, registry }: { readonly apiServices: ApiServices; readonly registry: Registry },
): Aggregation {
  const reader = serviceReader({ registry, catalog, signal });
  const {
    username = [],
    uid = [],
    group = [],
    extraPrefix = [],
  } = options.frontProxy?.headers ?? {};
  const backends = new Backends({
    reader,
    routing: "any",
    random: cryptoRandom,
    clock,
    client: () => undefined,
    signal,
  });
  const lower = (names: readonly string[]) => names.map((name) => name.toLowerCase());
  const names = new Set(lower([username, uid, group].flat()));
  const prefixes = lower(extraPrefix);
  const isUserHeader = (name: string) =>
    names.has(name) || prefixes.some((prefix) => name.startsWith(prefix));
  return { apiServices, backends, isUserHeader };
}
