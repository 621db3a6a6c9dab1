import { realClock } from "#base";
import {
  AggregatingClient,
  backendClient,
  DiscoveryManager,
  Downloader,
  OpenApiV2Specs,
  OpenApiV3Roots,
} from "#aggregator";
import { type Client, RegistryClient } from "#client";
import type { Registry } from "#registry";
import type { AggregatedDocuments, Aggregation } from "#server";
import type { ClientIdentity } from "../options.ts";
import type { ServerDependencies } from "./build-dependencies.ts";

/** What is known of the APIs of other servers. */
export interface AggregatedApis extends AggregatedDocuments {
  readonly discovery: DiscoveryManager;
  /** A client in this process that also reaches the other servers. */
  readonly client: (registry: Registry, identity: ClientIdentity) => Client;
  /** Keeps the documents up to date until the signal aborts. */
  readonly run: () => Promise<void>;
}

export function aggregatedApis(
  { catalog, clock, gates, metrics, report, signal }: ServerDependencies,
  { apiServices, backends: transport }: Aggregation,
): AggregatedApis {
  const { domain } = catalog;
  const { instruments } = metrics;
  const downloader = new Downloader(transport, signal);
  const real = { clock: realClock(clock), instruments, signal, report };
  const common = { apiServices, downloader, transport, domain, ...real };
  const discovery = new DiscoveryManager(common);
  const openApiV2 = new OpenApiV2Specs(common);
  const openApiV3 = new OpenApiV3Roots(common);
  return {
    discovery,
    servesBetaDiscovery: !gates("AggregatedDiscoveryRemoveBetaType"),
    openApiV2,
    openApiV3,
    client: (registry, identity) => {
      const local = new RegistryClient({ registry, catalog, ...identity });
      const remote = backendClient({ ...common, clock, ...identity });
      return new AggregatingClient({ local, remote, apiServices, discovery });
    },
    run: async () => {
      await Promise.all([discovery.run(), openApiV2.run(), openApiV3.run()]);
    },
  };
}
