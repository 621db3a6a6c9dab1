import { type Clock, deepEqual, KeyedMutex } from "#base";
import { WorkQueue } from "#client";
import { type Domain, groupVersionOf, resolve } from "#meta";
import type { Instruments, User } from "#request";
import { type ApiServices, isAvailable, type RemoteApiService } from "../api-services.ts";
import type { Downloader, DownloadedDocument } from "../download/download.ts";
import { mayChangeResponses, remoteApiService } from "../download/remote-api-service.ts";
import { decodeAggregated, decodeLegacy } from "./decode-discovery.ts";
import type {
  DiscoveredVersions,
  DiscoverySnapshot,
  RegisteredVersion,
  ResourceDiscovery,
  VersionDiscovery,
} from "./version-discovery.ts";

/** Interval at which the discovery of all servers is fetched, in ms; kube-apiserver's. */
const resyncMs = 60_000;
/** Timeout of one request in ms, kube-apiserver's. */
const timeoutMs = 5_000;
const maxBytes = 16 * 1024 * 1024;
/** Concurrent fetches, so that a slow server does not delay the others. */
const workers = 16;

export interface DiscoveryManagerOptions {
  readonly apiServices: ApiServices;
  readonly downloader: Downloader;
  readonly domain: Domain;
  readonly clock: Clock;
  readonly instruments: Instruments;
  /** Aborts to stop the manager. */
  readonly signal: AbortSignal;
  readonly report: (what: string, error: unknown) => void;
}

/** Aggregated discovery of a server, shared by the APIServices that refer to its Service. */
interface CachedDiscovery {
  readonly versions: DiscoveredVersions;
  readonly etag: string;
  /** Monotonic time before the request was sent, in ms. */
  readonly fetchedAt: number;
}

interface Entry {
  readonly apiService: RemoteApiService;
  /** Monotonic time of the last event that requires a fetch, in ms. */
  readonly dirtyAt: number;
  readonly discovery: VersionDiscovery;
}

/**
 * Discovery of the group versions that other servers serve. Fetches aggregated discovery, conditional
 * on the entity tag of the last response, or the APIResourceList of each group version from servers
 * without it. The group versions of a server that fails stay listed as `Stale`, without resources.
 */
export class DiscoveryManager {
  /** By name of the APIService. */
  private readonly entries = new Map<string, Entry>();
  /** By name of the APIService, local ones included. */
  private readonly registered = new Map<string, RegisteredVersion>();
  /** By `serviceKey`. */
  private readonly cached = new Map<string, CachedDiscovery>();
  private readonly fetchLocks = new KeyedMutex();
  private readonly queue: WorkQueue;
  private readonly listeners = new Set<() => void>();
  private snapshot: DiscoverySnapshot | undefined;

  constructor(private readonly options: DiscoveryManagerOptions) {
    const { apiServices } = options;
    this.queue = new WorkQueue({ ...options, name: "discovery-manager" });
    for (const { metadata } of apiServices.list()) this.onApiServiceChange(metadata.name);
    const unsubscribe = apiServices.onChange((name) => this.onApiServiceChange(name));
    options.signal.addEventListener("abort", unsubscribe, { once: true });
  }

  /** An immutable snapshot, replaced after each change. */
  get current(): DiscoverySnapshot {
    return (this.snapshot ??= { versions: this.versions() });
  }

  /** Calls the listener after each change of a remote group version; returns the unsubscribe function. */
  onChange(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  /** Fetches discovery until the signal aborts. */
  async run(): Promise<void> {
    await Promise.all([this.queue.run((name) => this.sync(name), { workers }), this.resync()]);
  }

  private async resync(): Promise<void> {
    const { clock, signal } = this.options;
    while (!signal.aborted) {
      await clock.sleep(resyncMs, signal, { background: true }).catch(() => undefined);
      for (const [name, entry] of this.entries) {
        this.entries.set(name, { ...entry, dirtyAt: clock.monotonic() });
        this.queue.add(name);
      }
    }
  }

  private onApiServiceChange(name: string): void {
    const { clock } = this.options;
    const apiService = remoteApiService(this.options.apiServices, name);
    const known = this.entries.get(name);
    if (apiService === undefined) this.entries.delete(name);
    else if (known === undefined || mayChangeResponses(known.apiService, apiService)) {
      const { version = "" } = apiService.spec;
      const discovery = known?.discovery ?? { version, freshness: "Stale" };
      this.entries.set(name, { apiService, dirtyAt: clock.monotonic(), discovery });
      this.queue.add(name);
    } else this.entries.set(name, { ...known, apiService });
    if (known !== undefined) this.evictUnused();
    this.register(name);
  }

  /** Updates the group version of the APIService, and notifies the listeners of a change. */
  private register(name: string): void {
    const before = this.registered.get(name);
    const now = this.registeredVersion(name);
    if (deepEqual(before, now)) return;
    if (now === undefined) this.registered.delete(name);
    else this.registered.set(name, now);
    this.snapshot = undefined;
    if (deepEqual(before?.remote, now?.remote)) return;
    for (const listener of this.listeners) listener();
  }

  private registeredVersion(name: string): RegisteredVersion | undefined {
    const apiService = this.options.apiServices.get(name);
    if (apiService === undefined) return undefined;
    const { group = "", version = "", groupPriorityMinimum, versionPriority } = apiService.spec;
    const registered = { group, version, groupPriorityMinimum, versionPriority };
    const remote = this.entries.get(name)?.discovery;
    return remote === undefined ? registered : { ...registered, remote };
  }

  private versions(): ReadonlyMap<string, RegisteredVersion> {
    const all = [...this.registered.values()];
    return new Map(all.map((each) => [groupVersionOf(each.group, each.version), each]));
  }

  private evictUnused(): void {
    const used = new Set(
      [...this.entries.values()].map(({ apiService }) => serviceKey(apiService)),
    );
    for (const key of this.cached.keys()) if (!used.has(key)) this.cached.delete(key);
  }

  private async sync(name: string): Promise<void> {
    const entry = this.entries.get(name);
    if (entry === undefined) return;
    const discovery = await this.fetchVersion(entry);
    const now = this.entries.get(name);
    // The APIService was changed or deleted during the fetch: a change has queued another sync.
    if (now === undefined || now.dirtyAt !== entry.dirtyAt) return;
    this.entries.set(name, { ...now, discovery });
    this.register(name);
  }

  private async fetchVersion(entry: Entry): Promise<VersionDiscovery> {
    const { group = "", version = "" } = entry.apiService.spec;
    const groupVersion = groupVersionOf(group, version);
    try {
      // APIServices of one server share one fetch.
      const resources = await this.fetchLocks.runExclusive(serviceKey(entry.apiService), () =>
        this.fetchResources(entry, groupVersion),
      );
      return { version, ...(resources.length > 0 ? { resources } : {}), freshness: "Current" };
    } catch (error) {
      if (!this.options.signal.aborted && isAvailable(entry.apiService)) {
        this.options.report(`Failed to discover ${groupVersion}`, error);
      }
      return { version, freshness: "Stale" };
    }
  }

  private async fetchResources(
    { apiService, dirtyAt }: Entry,
    groupVersion: string,
  ): Promise<readonly ResourceDiscovery[]> {
    const key = serviceKey(apiService);
    const known = this.cached.get(key);
    if (known !== undefined && known.fetchedAt >= dirtyAt)
      return resourcesIn(known.versions, groupVersion);
    const fetchedAt = this.options.clock.monotonic();
    const response = await this.get(apiService, {
      path: "/apis",
      accept: this.aggregatedTypes.join(","),
      ifNoneMatch: known?.etag ?? "",
      user: discoveryUser(["system:masters"]),
    });
    if (response.status === 503) throw new Error("the server responded with status 503");
    if (response.status === 304 && known !== undefined) {
      this.cached.set(key, { ...known, fetchedAt });
      return resourcesIn(known.versions, groupVersion);
    }
    if (response.status === 200 && this.isAggregated(response.header("content-type"))) {
      const versions = await decodeAggregated(response.body);
      const etag = response.header("etag");
      if (this.isUsed(key)) this.cached.set(key, { versions, etag, fetchedAt });
      return resourcesIn(versions, groupVersion);
    }
    return this.fetchLegacyResources(apiService, groupVersion);
  }

  private async fetchLegacyResources(
    apiService: RemoteApiService,
    groupVersion: string,
  ): Promise<readonly ResourceDiscovery[]> {
    const path = `/apis/${groupVersion}`;
    const user = discoveryUser([]);
    const request = { path, accept: "application/json", ifNoneMatch: "", user };
    const { status, body } = await this.get(apiService, request);
    if (status !== 200) throw new Error(`${path}: the server responded with status ${status}`);
    return decodeLegacy(body, groupVersion);
  }

  private get(
    apiService: RemoteApiService,
    request: Pick<Parameters<Downloader["get"]>[1], "path" | "accept" | "ifNoneMatch" | "user">,
  ): Promise<DownloadedDocument> {
    return this.options.downloader.get(apiService, { ...request, timeoutMs, maxBytes });
  }

  private isUsed(key: string): boolean {
    return [...this.entries.values()].some(({ apiService }) => serviceKey(apiService) === key);
  }

  private get aggregatedTypes(): readonly string[] {
    const group = resolve("apidiscovery.{api}", this.options.domain);
    const mediaType = (version: string) =>
      `application/json;g=${group};v=${version};as=APIGroupDiscoveryList`;
    return ["v2", "v2beta1"].map(mediaType);
  }

  /** Whether the media type is an accepted one; its parameters may be in any order. */
  private isAggregated(contentType: string): boolean {
    const normalize = (type: string) => {
      const parts = type.split(";").map((part) => part.trim());
      return parts
        .filter((part) => !part.startsWith("charset="))
        .sort()
        .join(";");
    };
    return this.aggregatedTypes.map(normalize).includes(normalize(contentType));
  }
}

/** User of discovery requests, kube-aggregator's. */
function discoveryUser(groups: readonly string[]): User {
  return { name: "system:kube-aggregator", uid: "", groups, extra: new Map() };
}

function resourcesIn(
  versions: DiscoveredVersions,
  groupVersion: string,
): readonly ResourceDiscovery[] {
  return versions.get(groupVersion) ?? [];
}

function serviceKey({ spec: { service } }: RemoteApiService): string {
  return `${service.namespace}/${service.name}:${service.port ?? 443}`;
}
