import { createSecureContext } from "node:tls";
import { setImmediate } from "node:timers/promises";
import {
  ApiServices,
  Backends,
  type ClientCertificate,
  runAvailability,
  runDefinitionRegistration,
} from "#aggregator";
import { cryptoRandom, realClock } from "#base";
import { RegistryClient } from "#client";
import { apiserver, apiserverAgent, type Registry, serviceReader } from "#registry";
import type { Dialer } from "#request";
import type { Aggregation } from "#server";
import type { FileReloader } from "../files/file-reloader.ts";
import type { StartOptions } from "../options.ts";
import type { ServerDependencies } from "./build-dependencies.ts";

/** What the server needs to proxy requests to other API servers. */
export function aggregationOf(
  { options, catalog, clock, files, signal }: ServerDependencies,
  { registry, dialer }: { readonly registry: Registry; readonly dialer: Dialer },
): Aggregation {
  const apiServices = new ApiServices(catalog.domain);
  const backends = new Backends({
    dialer,
    reader: serviceReader({ registry, catalog, signal }),
    routing: options.aggregation?.endpointsOnly ? "endpoints" : "any",
    random: cryptoRandom,
    clock: realClock(clock),
    client: followedClient(options, files),
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
  const rejectsRedirects = options.aggregation?.rejectRedirects ?? true;
  return { apiServices, backends, isUserHeader, rejectsRedirects };
}

/** The client certificate of this server, which is reloaded when its files change. */
function followedClient(
  { aggregation }: StartOptions,
  files: FileReloader,
): () => ClientCertificate | undefined {
  let current: ClientCertificate | undefined;
  const { client } = aggregation ?? {};
  if (client === undefined) return () => undefined;
  files.use([client.certificate, client.privateKey], (certificate = "", privateKey = "") => {
    // Throws for what is no key, and for a key that is another's.
    createSecureContext({ cert: certificate, key: privateKey });
    current = { certificate, privateKey };
  });
  return () => current;
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
