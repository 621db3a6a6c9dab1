import { realClock } from "#base";
import { type ApiObject, type Client, followStored, RequeueAfter, WorkQueue } from "#client";
import { isConflict, isNotFound, resolve } from "#meta";
import type { ServerAccess } from "#registry";
import type { Instruments, ServiceReader } from "#request";
import {
  apiServiceHandle,
  type ApiServices,
  isRemote,
  type RemoteApiService,
} from "../api-services.ts";
import type { ApiService } from "../contract.ts";
import { countUnavailable, deleteAvailability, recordAvailability } from "../metrics.ts";
import { type Availability, changedStatus, localAvailability } from "./conditions.ts";
import { checkAvailability, type DiscoveryProbe } from "./check.ts";

export interface AvailabilityOptions extends ServerAccess {
  readonly apiServices: ApiServices;
  readonly client: Client;
  readonly reader: ServiceReader;
  readonly discovery: DiscoveryProbe;
  readonly instruments: Instruments;
}

const resyncMs = 30_000;
/** Backoff after a failed check. */
const delays = { firstMs: 5, maxMs: 30_000 };
const workers = 5;

/**
 * Maintains the condition Available of every APIService until the signal aborts: on each change of the
 * APIService, its Service or EndpointSlices, and every 30 s. Every API server runs it.
 */
export async function runAvailability(options: AvailabilityOptions): Promise<void> {
  const { apiServices, signal } = options;
  const local = new WorkQueue({ ...options, name: "LocalAvailabilityController", delays });
  const remote = new WorkQueue({ ...options, name: "RemoteAvailabilityController", delays });
  const references = new ServiceWatcher(options, (name) => remote.add(name));
  const enqueue = (name: string) => {
    const apiService = apiServices.get(name);
    if (apiService === undefined) deleteAvailability(options.instruments, name);
    else if (!isRemote(apiService)) local.add(name);
    else {
      references.start();
      remote.add(name);
    }
  };
  const enqueueAll = () => apiServices.list().forEach(({ metadata }) => enqueue(metadata.name));
  const unsubscribe = apiServices.onChange(enqueue);
  signal.addEventListener("abort", unsubscribe, { once: true });
  enqueueAll();
  await Promise.all([
    local.run((name) => syncLocal(options, name)),
    remote.run((name) => syncRemote(options, name), { workers }),
    resync(options, enqueueAll),
  ]);
}

async function resync({ clock, signal }: AvailabilityOptions, all: () => void): Promise<void> {
  while (!signal.aborted) {
    await realClock(clock)
      .sleep(resyncMs, signal, { background: true })
      .catch(() => undefined);
    if (!signal.aborted) all();
  }
}

async function syncLocal(options: AvailabilityOptions, name: string): Promise<void> {
  const apiService = options.apiServices.get(name);
  if (apiService === undefined || isRemote(apiService)) return;
  await writeStatus(options, apiService, localAvailability);
}

async function syncRemote(options: AvailabilityOptions, name: string): Promise<void> {
  const apiService = options.apiServices.get(name);
  if (apiService === undefined || !isRemote(apiService)) return;
  const found = await checkAvailability(options, apiService);
  if (options.signal.aborted) return;
  await writeStatus(options, apiService, found);
  // No event announces the recovery of the server, so the check is retried with backoff.
  if (found.reason === "FailedDiscoveryCheck") throw new RequeueAfter(found.message);
}

async function writeStatus(
  { client, clock, instruments }: AvailabilityOptions,
  apiService: ApiService,
  found: Availability,
): Promise<void> {
  recordAvailability(instruments, apiService.metadata.name, found);
  const status = changedStatus(apiService, found, clock.now());
  if (status === undefined) return;
  const resource = apiServiceHandle(client.domain);
  try {
    await client.update(resource, { ...apiService, status }, { subresource: "status" });
  } catch (error) {
    // The APIService was deleted or changed: its watch event starts another check.
    if (isNotFound(error) || isConflict(error)) return;
    throw error;
  }
  countUnavailable(instruments, apiService, { type: "Available", ...found });
}

/** Reports changes of the Services, and their EndpointSlices, to which APIServices refer. */
class ServiceWatcher {
  private hasStarted = false;

  constructor(
    private readonly options: AvailabilityOptions,
    private readonly changed: (apiService: string) => void,
  ) {}

  /** Watches Services and EndpointSlices; further calls do nothing. */
  start(): void {
    if (this.hasStarted) return;
    this.hasStarted = true;
    const { catalog } = this.options;
    const { domain } = catalog;
    const label = resolve("{label}/service-name", domain);
    this.followKind("", "services", ({ metadata }) => metadata.name);
    this.followKind(
      resolve("discovery.{api}", domain),
      "endpointslices",
      ({ metadata }) => metadata.labels?.[label],
    );
  }

  private followKind(
    group: string,
    plural: string,
    serviceOf: (object: ApiObject) => string | undefined,
  ): void {
    const resource = this.options.catalog.find(group, "v1", plural);
    if (resource === undefined) return;
    const sink = {
      replaced: () => this.remote().forEach(({ metadata }) => this.changed(metadata.name)),
      changed: (_type: unknown, object: ApiObject) =>
        this.serviceChanged(object.metadata.namespace ?? "", serviceOf(object)),
    };
    followStored(resource, sink, this.options);
  }

  private serviceChanged(namespace: string, name: string | undefined): void {
    for (const { metadata, spec } of this.remote()) {
      const { service } = spec;
      if (service.namespace === namespace && service.name === name) this.changed(metadata.name);
    }
  }

  private remote(): readonly RemoteApiService[] {
    return this.options.apiServices.list().filter(isRemote);
  }
}
