/**
 * Records the objects of a cluster in a directory, from which `startServer({ from })` loads them.
 */
import { setMaxListeners } from "node:events";
import { type AdjustableLogger, type Clock, cryptoRandom } from "#base";
import {
  type ApiObject,
  clientMetrics,
  ConnectionError,
  type DiscoveredResource,
  http2Transport,
  HttpClient,
  reflect,
  withRetries,
} from "#client";
import { type Domain, resolve, StatusError } from "#meta";
import type { Endpoint } from "#request";
import { type ProxiedRequest, PrometheusMetrics } from "#server";
import { RecordError } from "./record-error.ts";
import { RecordingFolder } from "./recording-folder.ts";
import { RecordingProxy } from "./recording-proxy.ts";
import { qualifiedName, selectedResources } from "./selection.ts";

export interface RecordOptions {
  readonly endpoint: Endpoint;
  readonly directory: string;
  /** Namespaces to record; empty = all namespaces and cluster-scoped objects. */
  readonly namespaces: readonly string[];
  /** Resources or kinds, with or without `.group`; `*` = all of the scope; empty = all. */
  readonly kinds: readonly string[];
  /** Record changes as well, until the signal aborts. */
  readonly watch: boolean;
  /**
   * Proxy the cluster on 127.0.0.1 and record changes, until the signal aborts; absent = no proxy.
   */
  readonly proxy?: RecordProxyOptions;
  readonly domain: Domain;
  readonly clock: Clock;
  readonly logger: AdjustableLogger;
  /** Called with the number of objects once all of them have been written. */
  readonly recorded: (objects: number) => void;
}

export interface RecordProxyOptions {
  /** Port on 127.0.0.1; 0 = any free one. */
  readonly port: number;
  /** Called with the path of the kubeconfig once the proxy listens. */
  readonly ready: (kubeconfig: string) => void;
}

/** Minimum time in ms between discoveries caused by requests for unknown resources. */
const discoveryPauseMs = 1_000;
const pageSize = 500;
/** Maximum attempts to list a resource: a list with an expired continue token is restarted. */
const maxLists = 3;
/** Time limit in ms of the last reads of a recording with changes. */
const lastReadsMs = 30_000;
const requestsPerSecond = { perSecond: 200, burst: 400 };

/**
 * Records until everything is written, or with `watch` or `proxy` until the signal aborts.
 * @throws RecordError
 */
export async function recordCluster(options: RecordOptions, signal: AbortSignal): Promise<void> {
  const life = new AbortController();
  try {
    await new Recorder(options, signal, life.signal).run();
  } catch (error) {
    if (signal.aborted && error === signal.reason) {
      throw new RecordError("ended before all objects were recorded");
    }
    if (!(error instanceof ConnectionError)) throw error;
    const { host } = options.endpoint.url;
    throw new RecordError(`the API server at ${host} cannot be reached: ${error.message}`);
  } finally {
    // Closes the connections.
    life.abort();
  }
}

class Recorder {
  private readonly client: HttpClient;
  private readonly folder: RecordingFolder;
  private readonly failed: string[] = [];
  /** Qualified names of all resources that the server had at the latest discovery. */
  private readonly known = new Set<string>();
  private discoveredAt = 0;
  private chosen: readonly DiscoveredResource[] = [];
  /** Watches by qualified name of the resource. */
  private readonly followers = new Map<string, Promise<unknown>>();
  /** Qualified names of resources that requests through the proxy have changed. */
  private readonly written = new Set<string>();
  private discovering: Promise<void> | undefined;
  /** Aborts reads. */
  private reading: AbortSignal;

  constructor(
    private readonly options: RecordOptions,
    /** Aborts to end the recording. */
    private readonly signal: AbortSignal,
    life: AbortSignal,
  ) {
    this.reading = signal;
    const { clock, directory, domain, endpoint } = options;
    const { instruments } = new PrometheusMetrics();
    instruments.define(clientMetrics);
    setMaxListeners(0, signal, life);
    const pool = http2Transport({ endpoint: () => endpoint, clock, signal: life });
    const { host } = endpoint.url;
    const send = withRetries(pool, { clock, host, instruments, rate: requestsPerSecond });
    const common = { domain, clock, userAgent: "keelson-record", signal: life };
    this.client = new HttpClient({ ...common, send });
    this.folder = new RecordingFolder(directory);
  }

  async run(): Promise<void> {
    const { recorded, watch, proxy } = this.options;
    const resources = await this.discover();
    await this.recordNamespaces(resources);
    for (const resource of this.chosen) await this.recordResource(resource);
    await this.recordDefinitions(resources);
    recorded(this.folder.size);
    if (proxy !== undefined) await this.serve(proxy);
    else if (watch) await this.followUntilEnd();
    if (this.failed.length === 0) return;
    throw new RecordError(`not recorded: ${this.failed.join("; ")}`);
  }

  /** Discovers resources, and returns those to record. */
  private async discover(): Promise<readonly DiscoveredResource[]> {
    const { resources, failures } = await this.client.discover();
    this.discoveredAt = this.options.clock.monotonic();
    for (const [groupVersion, why] of failures) this.fail(groupVersion, why);
    for (const each of resources) this.known.add(qualifiedName(each));
    this.chosen = selectedResources(resources, this.options, this.options.domain);
    return resources;
  }

  /** Follows the cluster and serves it to clients until the signal aborts. */
  private async serve({ port, ready }: RecordProxyOptions): Promise<void> {
    const { endpoint, directory, domain, clock } = this.options;
    const ended = (request: ProxiedRequest) => this.observe(request);
    const proxy = await RecordingProxy.start({ endpoint, directory, port, domain, clock, ended });
    ready(proxy.kubeconfig);
    await this.followUntilEnd(() => proxy.close());
  }

  /** Notes the resources that a request through the proxy changed, and watches new ones. */
  private observe({ info, status = 0 }: ProxiedRequest): void {
    if (!info.isResource || status === 0 || status >= 400) return;
    const name = qualifiedName({ group: info.group, plural: info.resource });
    if (!["get", "list", "watch"].includes(info.verb)) this.written.add(name);
    const { clock, logger } = this.options;
    const isRecent = clock.monotonic() - this.discoveredAt < discoveryPauseMs;
    if (this.known.has(name) || isRecent || this.signal.aborted) return;
    this.discovering ??= this.discover()
      .then(() => this.followChosen())
      .catch((error: unknown) => logger.error("Failed to discover kinds", error))
      .finally(() => (this.discovering = undefined));
  }

  /** Writes changes until the signal aborts; calls `close` then, before the last reads. */
  private async followUntilEnd(close: () => Promise<void> = async () => undefined): Promise<void> {
    this.followChosen();
    await untilAborted(this.signal);
    await close();
    await this.discovering;
    await Promise.all(this.followers.values());
    this.reading = AbortSignal.timeout(lastReadsMs);
    try {
      await this.readLastChanges();
    } catch (error) {
      const isGone = error instanceof ConnectionError || this.reading.aborted;
      if (!isGone) throw error;
      this.fail("the last changes", error instanceof Error ? error.message : String(error));
    }
  }

  /**
   * Lists the resources that clients of the proxy have written, whose last changes the watches may
   * not have delivered, and the namespaces and definitions of objects that were recorded since the
   * first reads.
   */
  private async readLastChanges(): Promise<void> {
    const resources = await this.discover();
    for (const resource of this.chosen) {
      if (!this.written.has(qualifiedName(resource))) continue;
      for (const namespace of this.namespacesOf(resource)) {
        const objects: ApiObject[] = [];
        const isRead = await this.eachObject(resource, namespace, (one) => objects.push(one));
        if (isRead) this.folder.replace(resource, namespace, objects);
      }
    }
    if (this.options.namespaces.length === 0) await this.recordNamespaces(resources);
    await this.recordDefinitions(resources);
  }

  /** Records the selected Namespaces, unless namespaces are recorded as a resource anyway. */
  private async recordNamespaces(resources: readonly DiscoveredResource[]): Promise<void> {
    const resource = resources.find((each) => each.group === "" && each.plural === "namespaces");
    if (resource === undefined || this.isChosen(resource)) return;
    const { namespaces } = this.options;
    if (namespaces.length === 0) return void (await this.recordResource(resource));
    for (const name of namespaces) {
      try {
        this.folder.write(resource, await this.client.get(resource, { name }));
      } catch (error) {
        if (!(error instanceof StatusError)) throw error;
        throw new RecordError(`--namespaces: ${error.message}`);
      }
    }
  }

  /**
   * Records the definitions of recorded custom resources, unless definitions are selected anyway.
   */
  private async recordDefinitions(resources: readonly DiscoveredResource[]): Promise<void> {
    const group = resolve("apiextensions.{api}", this.options.domain);
    const plural = "customresourcedefinitions";
    const resource = resources.find((each) => each.group === group && each.plural === plural);
    if (resource === undefined || this.isChosen(resource)) return;
    const names = this.folder.resources();
    await this.eachObject(resource, "", (object) => {
      if (names.has(object.metadata.name)) this.folder.write(resource, object);
    });
  }

  private isChosen(resource: DiscoveredResource): boolean {
    return this.chosen.some((each) => qualifiedName(each) === qualifiedName(resource));
  }

  private async recordResource(resource: DiscoveredResource): Promise<void> {
    for (const namespace of this.namespacesOf(resource)) {
      await this.eachObject(resource, namespace, (object) => this.folder.write(resource, object));
    }
  }

  private namespacesOf({ namespaced }: DiscoveredResource): readonly string[] {
    const { namespaces } = this.options;
    return namespaced && namespaces.length > 0 ? namespaces : [""];
  }

  /**
   * Calls `take` for each object of a paged list. A rejected list is recorded as failure; returns
   * whether the list succeeded.
   */
  private async eachObject(
    resource: DiscoveredResource,
    namespace: string,
    take: (object: ApiObject) => void,
  ): Promise<boolean> {
    for (let lists = 1; ; lists++) {
      try {
        await this.eachPage(resource, namespace, take);
        return true;
      } catch (error) {
        if (!(error instanceof StatusError)) throw error;
        if (error.code === 410 && lists < maxLists) continue;
        this.fail(qualifiedName(resource), error.message);
        return false;
      }
    }
  }

  private async eachPage(
    resource: DiscoveredResource,
    namespace: string,
    take: (object: ApiObject) => void,
  ): Promise<void> {
    let continueToken = "";
    do {
      const options = { namespace, limit: pageSize, continueToken, signal: this.reading };
      const page = await this.client.list(resource, options);
      for (const object of page.items) take(object);
      ({ continueToken } = page);
    } while (continueToken !== "");
  }

  /** Starts to watch the selected resources that are not watched yet. */
  private followChosen(): void {
    for (const resource of this.chosen) {
      const name = qualifiedName(resource);
      if (this.followers.has(name)) continue;
      this.followers.set(name, Promise.all(this.follow(resource)));
    }
  }

  /** Writes the changes of a resource until the signal aborts. */
  private follow(resource: DiscoveredResource): readonly Promise<void>[] {
    const { clock, logger } = this.options;
    const report = (what: string, error: unknown) => logger.error(what, error);
    const common = { client: this.client, resource, clock, random: cryptoRandom, report };
    return this.namespacesOf(resource).map((namespace) => {
      const sink = {
        replaced: (objects: readonly ApiObject[]) =>
          this.folder.replace(resource, namespace, objects),
        changed: (type: "ADDED" | "MODIFIED" | "DELETED", object: ApiObject) => {
          if (type === "DELETED") this.folder.remove(resource, object);
          else this.folder.write(resource, object);
        },
      };
      return reflect({ ...common, selection: { namespace }, sink, signal: this.signal });
    });
  }

  private fail(what: string, why: string): void {
    this.failed.push(`${what}: ${why}`);
    this.options.logger.error(`Failed to record ${what}: ${why}`, undefined);
  }
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
