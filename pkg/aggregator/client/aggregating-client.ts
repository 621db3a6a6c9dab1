import type {
  ApiObject,
  CallOptions,
  Client,
  DeleteOptions,
  DiscoveredResource,
  Discovery,
  Draft,
  GetOptions,
  Handle,
  ListOptions,
  Page,
  Patch,
  Place,
  WatchEvent,
  WatchOptions,
  WriteOptions,
} from "#client";
import { groupVersionOf } from "#meta";
import type { ApiServices } from "../api-services.ts";
import type { DiscoveryManager } from "../discovery/discovery-manager.ts";
import type { VersionDiscovery } from "../discovery/version-discovery.ts";

interface AggregatingClientOptions {
  /** What this server serves itself. */
  readonly local: Client;
  /** The servers behind APIServices. */
  readonly remote: Client;
  readonly apiServices: ApiServices;
  readonly discovery: Pick<DiscoveryManager, "current" | "onChange">;
}

/** The whole API for programs in the process of the server: its own kinds and those of other servers. */
export class AggregatingClient implements Client {
  constructor(private readonly options: AggregatingClientOptions) {}

  get domain(): Client["domain"] {
    return this.options.local.domain;
  }

  onServed(listener: () => void): () => void {
    const { local, discovery } = this.options;
    const all = [local.onServed?.(listener), discovery.onChange(listener)];
    return () => all.forEach((forget) => forget?.());
  }

  /** Group versions of servers that cannot be asked are failures. */
  async discover(): Promise<Discovery> {
    const { local, discovery } = this.options;
    const found = await local.discover();
    const resources = found.resources.filter((resource) => !this.isRemote(resource));
    const failures = new Map(found.failures);
    for (const [groupVersion, { group, remote }] of discovery.current.versions) {
      if (remote === undefined) continue;
      resources.push(...resourcesOf(group, remote));
      if (remote.freshness === "Stale") {
        failures.set(groupVersion, `stale GroupVersion discovery: ${groupVersion}`);
      }
    }
    return { resources, failures };
  }

  get<T extends ApiObject>(resource: Handle<T>, at: Place, options?: GetOptions): Promise<T> {
    return this.clientOf(resource).get(resource, at, options);
  }

  list<T extends ApiObject>(resource: Handle<T>, options?: ListOptions): Promise<Page<T>> {
    return this.clientOf(resource).list(resource, options);
  }

  watch<T extends ApiObject>(
    resource: Handle<T>,
    options: WatchOptions,
  ): AsyncIterable<WatchEvent<T>> {
    return this.clientOf(resource).watch(resource, options);
  }

  create<T extends ApiObject>(
    resource: Handle<T>,
    object: Draft<T>,
    options?: WriteOptions,
  ): Promise<T> {
    return this.clientOf(resource).create(resource, object, options);
  }

  update<T extends ApiObject>(
    resource: Handle<T>,
    object: Draft<T>,
    options?: WriteOptions,
  ): Promise<T> {
    return this.clientOf(resource).update(resource, object, options);
  }

  patch<T extends ApiObject>(resource: Handle<T>, at: Place, patch: Patch): Promise<T> {
    return this.clientOf(resource).patch(resource, at, patch);
  }

  delete(resource: Handle, at: Place, options?: DeleteOptions): Promise<void> {
    return this.clientOf(resource).delete(resource, at, options);
  }

  deleteCollection(resource: Handle, at: Place, options?: DeleteOptions): Promise<void> {
    return this.clientOf(resource).deleteCollection(resource, at, options);
  }

  getRaw(path: string, options?: CallOptions): Promise<unknown> {
    const { local, remote, apiServices } = this.options;
    const client = apiServices.remoteFor(path) === undefined ? local : remote;
    return client.getRaw(path, options);
  }

  private clientOf(resource: Handle): Client {
    const { local, remote } = this.options;
    return this.isRemote(resource) ? remote : local;
  }

  private isRemote({ group, version }: Handle): boolean {
    if (group === "") return false;
    return (
      this.options.apiServices.remoteFor(`/apis/${groupVersionOf(group, version)}`) !== undefined
    );
  }
}

function resourcesOf(
  group: string,
  { version, resources = [] }: VersionDiscovery,
): readonly DiscoveredResource[] {
  return resources.map(({ resource: plural, responseKind, scope, verbs, subresources = [] }) => ({
    group,
    version,
    plural,
    kind: responseKind.kind,
    namespaced: scope === "Namespaced",
    verbs,
    subresources: subresources.map(({ subresource }) => subresource),
  }));
}
