/** Records the objects of a cluster in a folder, from which `startServer({ from })` loads them. */
import { setMaxListeners } from "node:events";
import { type AdjustableLogger, type Clock, cryptoRandom } from "#base";
import {
  type ApiObject,
  clientMetrics,
  type DiscoveredResource,
  http2Transport,
  HttpClient,
  reflect,
  withRetries,
} from "#client";
import { type Domain, resolve, StatusError } from "#meta";
import type { Endpoint } from "#request";
import { PrometheusMetrics } from "#server";
import { RecordError } from "./record-error.ts";
import { RecordingFolder } from "./recording-folder.ts";
import { qualifiedName, selectedResources } from "./selection.ts";

export interface RecordOptions {
  readonly endpoint: Endpoint;
  readonly directory: string;
  /** Empty = all, and cluster-scoped objects. */
  readonly namespaces: readonly string[];
  /** Resources or kinds, with or without `.group`; `*` = all of the scope; empty = all. */
  readonly kinds: readonly string[];
  /** Go on with the changes until the signal aborts. */
  readonly watch: boolean;
  readonly domain: Domain;
  readonly clock: Clock;
  readonly logger: AdjustableLogger;
  /** Called with the number of objects once all of them have been written. */
  readonly recorded: (objects: number) => void;
}

const pageSize = 500;
/** A list whose pages have expired is read again from its first page. */
const mostLists = 3;
const requestsPerSecond = { perSecond: 200, burst: 400 };

/**
 * Records until everything is written, or with `watch` until the signal aborts.
 * @throws RecordError
 */
export async function recordCluster(options: RecordOptions, signal: AbortSignal): Promise<void> {
  await new Recorder(options, signal).run();
}

class Recorder {
  private readonly client: HttpClient;
  private readonly folder: RecordingFolder;
  private readonly failed: string[] = [];

  constructor(
    private readonly options: RecordOptions,
    private readonly signal: AbortSignal,
  ) {
    const { clock, directory, domain, endpoint } = options;
    const { instruments } = new PrometheusMetrics();
    instruments.define(clientMetrics);
    setMaxListeners(0, signal);
    const pool = http2Transport({ endpoint: () => endpoint, clock, signal });
    const { host } = endpoint.url;
    const send = withRetries(pool, { clock, host, instruments, rate: requestsPerSecond });
    const common = { domain, clock, userAgent: "keelson-record", signal };
    this.client = new HttpClient({ ...common, send, exactIntegers: true });
    this.folder = new RecordingFolder(directory);
  }

  async run(): Promise<void> {
    const { domain, recorded, watch } = this.options;
    const { resources, failures } = await this.client.discover();
    for (const [groupVersion, why] of failures) this.fail(groupVersion, why);
    const chosen = selectedResources(resources, this.options, domain);
    await this.recordNamespaces(resources, chosen);
    const used: DiscoveredResource[] = [];
    for (const resource of chosen) {
      if (await this.recordResource(resource)) used.push(resource);
    }
    await this.recordDefinitions(resources, chosen, used);
    recorded(this.folder.size);
    if (watch) await Promise.all(chosen.flatMap((each) => this.follow(each)));
    if (this.failed.length === 0) return;
    throw new RecordError(`not recorded: ${this.failed.join("; ")}`);
  }

  /** The Namespaces of the recording, unless they are a resource that is recorded anyway. */
  private async recordNamespaces(
    resources: readonly DiscoveredResource[],
    chosen: readonly DiscoveredResource[],
  ): Promise<void> {
    const resource = resources.find((each) => each.group === "" && each.plural === "namespaces");
    if (resource === undefined || chosen.includes(resource)) return;
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

  /** The definitions of the custom resources that were found, where definitions are not chosen. */
  private async recordDefinitions(
    resources: readonly DiscoveredResource[],
    chosen: readonly DiscoveredResource[],
    used: readonly DiscoveredResource[],
  ): Promise<void> {
    const group = resolve("apiextensions.{api}", this.options.domain);
    const plural = "customresourcedefinitions";
    const resource = resources.find((each) => each.group === group && each.plural === plural);
    if (resource === undefined || chosen.includes(resource)) return;
    const names = new Set(used.map(qualifiedName));
    await this.eachObject(resource, "", (object) => {
      if (names.has(object.metadata.name)) this.folder.write(resource, object);
    });
  }

  /** Answers whether there is any object of the resource. */
  private async recordResource(resource: DiscoveredResource): Promise<boolean> {
    let found = false;
    for (const namespace of this.namespacesOf(resource)) {
      await this.eachObject(resource, namespace, (object) => {
        found = true;
        this.folder.write(resource, object);
      });
    }
    return found;
  }

  private namespacesOf({ namespaced }: DiscoveredResource): readonly string[] {
    const { namespaces } = this.options;
    return namespaced && namespaces.length > 0 ? namespaces : [""];
  }

  /** Calls `take` for each object of a list in pages; a refused list is a failure of the recording. */
  private async eachObject(
    resource: DiscoveredResource,
    namespace: string,
    take: (object: ApiObject) => void,
  ): Promise<void> {
    for (let lists = 1; ; lists++) {
      try {
        return await this.eachPage(resource, namespace, take);
      } catch (error) {
        if (!(error instanceof StatusError)) throw error;
        if (error.code === 410 && lists < mostLists) continue;
        return this.fail(qualifiedName(resource), error.message);
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
      const options = { namespace, limit: pageSize, continueToken, signal: this.signal };
      const page = await this.client.list(resource, options);
      for (const object of page.items) take(object);
      ({ continueToken } = page);
    } while (continueToken !== "");
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
