import { setImmediate } from "node:timers/promises";
import { ApiServices, Backends, runAvailability, runDefinitionRegistration } from "#aggregator";
import { cryptoRandom } from "#base";
import { RegistryClient } from "#client";
import { apiserver, apiserverAgent, type Registry, serviceReader } from "#registry";
import type { Aggregation } from "#server";
import type { ServerDependencies } from "./build-dependencies.ts";

/** What the server needs to proxy requests to other API servers. */
export function aggregationOf(
  { options, catalog, clock, signal }: ServerDependencies,
  registry: Registry,
): Aggregation {
  const apiServices = new ApiServices(catalog.domain);
  const backends = new Backends({
    reader: serviceReader({ registry, catalog, signal }),
    routing: "any",
    random: cryptoRandom,
    clock,
    client: () => undefined,
    signal,
  });
  const {
    username = [],
    uid = [],
    group = [],
    extraPrefix = [],
  } = options.frontProxy?.headers ?? {};
  const lower = (names: readonly string[]) => names.map((name) => name.toLowerCase());
  const names = new Set(lower([username, uid, group].flat()));
  const prefixes = lower(extraPrefix);
  const isUserHeader = (name: string) =>
    names.has(name) || prefixes.some((prefix) => name.startsWith(prefix));
  return { apiServices, backends, isUserHeader };
}

/** Maintains APIServices and their conditions until the signal aborts. */
export async function runAggregation(
  assembly: ServerDependencies & { readonly aggregation: Aggregation; readonly registry: Registry },
): Promise<void> {
  // Callers that await the start run first.
  await setImmediate();
  if (assembly.signal.aborted) return;
  const { aggregation, metrics } = assembly;
  const { apiServices, backends } = aggregation;
  const client = new RegistryClient({ ...assembly, user: apiserver, userAgent: apiserverAgent });
  const reader = serviceReader(assembly);
  const { instruments } = metrics;
  const common = { ...assembly, apiServices, client, reader, discovery: backends, instruments };
  await Promise.all([runAvailability(common), runDefinitionRegistration(common)]);
}
