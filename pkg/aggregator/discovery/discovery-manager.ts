import { type Clock, deepEqual, KeyedMutex } from "#base";
import { WorkQueue } from "#client";
import { type Domain, groupVersionOf, resolve } from "#meta";
import type { Instruments, User } from "#request";
import { type ApiServices, isAvailable, type RemoteApiService } from "../api-services.ts";
import type { Downloader, DownloadedDocument } from "../download/download.ts";
import { mayAnswerOtherwise, remoteApiService } from "../download/remote-api-service.ts";
import { decodeAggregated, decodeLegacy } from "./decode-discovery.ts";
import type {
  DiscoveredVersions,
  DiscoverySnapshot,
  RegisteredVersion,
  ResourceDiscovery,
  VersionDiscovery,
} from "./version-discovery.ts";

/** Interval at which all servers are asked, kube-apiserver's. */
const resyncMs = 60_000;
/** Time for one request, kube-apiserver's. */
const timeoutMs = 5_000;
const maxBytes = 16 * 1024 * 1024;
/** Servers that are asked concurrently: a slow one delays no other. */
const workers = 16;

export interface DiscoveryManagerOptions {
  readonly apiServices: ApiServices;
  readonly downloader: Downloader;
  readonly domain: Domain;
  readonly clock: Clock;
  readonly instruments: Instruments;
  /** Ends it. */
  readonly signal: AbortSignal;
  readonly report: (what: string, error: unknown) => void;
}

/** Aggregated discovery of a server, which several APIServices may name. */
interface CachedDiscovery {
  readonly versions: DiscoveredVersions;
  readonly etag: string;
  /** Before the request. */
  readonly askedAt: number;
}

interface Entry {
  readonly apiService: RemoteApiService;
  /** After the change of the APIService that made it necessary to ask. */
  readonly dirtyAt: number;
  readonly discovery: VersionDiscovery;
}

/**
 * Discovery of the group versions that other servers serve. Asks them for aggregated discovery with
 * the entity tag of the last answer, and for the resources of the version where they have none. One
 * that does not answer keeps its group versions, without resources and marked `Stale`.
 */
export class DiscoveryManager {
  /** By name of the APIService, as the two below. */
  private readonly entries = new Map<string, Entry>();
  private readonly registered = new Map<string, RegisteredVersion>();
  private readonly cached = new Map<string, CachedDiscovery>();
  private readonly asking = new KeyedMutex();
  private readonly queue: WorkQueue;
  private readonly listeners = new Set<() => void>();
  private snapshot: DiscoverySnapshot | undefined;

  constructor(private readonly options: DiscoveryManagerOptions) {
    const { apiServices } = options;
    this.queue = new WorkQueue({ ...options, name: "discovery-manager" });
    for (const { metadata } of apiServices.list()) this.changed(metadata.name);
    const forget = apiServices.onChange((name) => this.changed(name));
    options.signal.addEventListener("abort", forget, { once: true });
  }

  /** Another value after each change. */
  get current(): DiscoverySnapshot {
    return (this.snapshot ??= { versions: this.versions() });
  }

  /**
   * Calls the listener after each change of what other servers serve; returns the unsubscribe
   * function.
   */
  onChange(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  /** Until the signal aborts. */
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

  private changed(name: string): void {
    const { clock } = this.options;
    const apiService = remoteApiService(this.options.apiServices, name);
    const known = this.entries.get(name);
    if (apiService === undefined) this.entries.delete(name);
    else if (known === undefined || mayAnswerOtherwise(known.apiService, apiService)) {
      const { version = "" } = apiService.spec;
      const discovery = known?.discovery ?? { version, freshness: "Stale" };
      this.entries.set(name, { apiService, dirtyAt: clock.monotonic(), discovery });
      this.queue.add(name);
    } else this.entries.set(name, { ...known, apiService });
    if (known !== undefined) this.forgetUnused();
    this.register(name);
  }

  /** Updates what documents show of the APIService. */
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

  private forgetUnused(): void {
    const used = new Set([...this.entries.values()].map(({ apiService }) => keyOf(apiService)));
    for (const key of this.cached.keys()) if (!used.has(key)) this.cached.delete(key);
  }

  private async sync(name: string): Promise<void> {
    const entry = this.entries.get(name);
    if (entry === undefined) return;
    const discovery = await this.ask(entry);
    const now = this.entries.get(name);
    // The APIService has changed or gone meanwhile; another round follows.
    if (now === undefined || now.dirtyAt !== entry.dirtyAt) return;
    this.entries.set(name, { ...now, discovery });
    this.register(name);
  }

  private async ask(entry: Entry): Promise<VersionDiscovery> {
    const { group = "", version = "" } = entry.apiService.spec;
    const groupVersion = groupVersionOf(group, version);
    try {
      // APIServices of one server share its answer.
      const resources = await this.asking.runExclusive(keyOf(entry.apiService), () =>
        this.resourcesOf(entry, groupVersion),
      );
      return { version, ...(resources.length > 0 ? { resources } : {}), freshness: "Current" };
    } catch (error) {
      if (!this.options.signal.aborted && isAvailable(entry.apiService)) {
        this.options.report(`Failed to discover ${groupVersion}`, error);
      }
      return { version, freshness: "Stale" };
    }
  }

  private async resourcesOf(
    { apiService, dirtyAt }: Entry,
    groupVersion: string,
  ): Promise<readonly ResourceDiscovery[]> {
    const key = keyOf(apiService);
    const known = this.cached.get(key);
    if (known !== undefined && known.askedAt >= dirtyAt) return found(known.versions, groupVersion);
    const askedAt = this.options.clock.monotonic();
    const answer = await this.get(apiService, {
      path: "/apis",
      accept: this.aggregatedTypes.join(","),
      ifNoneMatch: known?.etag ?? "",
      user: discoveryUser(["system:masters"]),
    });
    if (answer.status === 503) throw new Error("the server answered 503");
    if (answer.status === 304 && known !== undefined) {
      this.cached.set(key, { ...known, askedAt });
      return found(known.versions, groupVersion);
    }
    if (answer.status === 200 && this.isAggregated(answer.header("content-type"))) {
      const versions = await decodeAggregated(answer.body);
      const etag = answer.header("etag");
      if (this.isUsed(key)) this.cached.set(key, { versions, etag, askedAt });
      return found(versions, groupVersion);
    }
    return this.legacyResources(apiService, groupVersion);
  }

  private async legacyResources(
    apiService: RemoteApiService,
    groupVersion: string,
  ): Promise<readonly ResourceDiscovery[]> {
    const path = `/apis/${groupVersion}`;
    const user = discoveryUser([]);
    const request = { path, accept: "application/json", ifNoneMatch: "", user };
    const { status, body } = await this.get(apiService, request);
    if (status !== 200) throw new Error(`${path}: the server answered ${status}`);
    return decodeLegacy(body, groupVersion);
  }

  private get(
    apiService: RemoteApiService,
    request: Pick<Parameters<Downloader["get"]>[1], "path" | "accept" | "ifNoneMatch" | "user">,
  ): Promise<DownloadedDocument> {
    return this.options.downloader.get(apiService, { ...request, timeoutMs, maxBytes });
  }

  private isUsed(key: string): boolean {
    return [...this.entries.values()].some(({ apiService }) => keyOf(apiService) === key);
  }

  private get aggregatedTypes(): readonly string[] {
    const group = resolve("apidiscovery.{api}", this.options.domain);
    const form = (version: string) =>
      `application/json;g=${group};v=${version};as=APIGroupDiscoveryList`;
    return ["v2", "v2beta1"].map(form);
  }

  /** Whether a media type is one of those asked for, parameters in any order. */
  private isAggregated(contentType: string): boolean {
    const normal = (type: string) => {
      const parts = type.split(";").map((part) => part.trim());
      return parts
        .filter((part) => !part.startsWith("charset="))
        .sort()
        .join(";");
    };
    return this.aggregatedTypes.map(normal).includes(normal(contentType));
  }
}

/** As which the servers are asked, kube-apiserver's user. */
function discoveryUser(groups: readonly string[]): User {
  return { name: "system:kube-aggregator", uid: "", groups, extra: new Map() };
}

function found(versions: DiscoveredVersions, groupVersion: string): readonly ResourceDiscovery[] {
  return versions.get(groupVersion) ?? [];
}

function keyOf({ spec: { service } }: RemoteApiService): string {
  return `${service.namespace}/${service.name}:${service.port ?? 443}`;
}
