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
  /** Client of the group versions that this server serves. */
  readonly local: Client;
  /** Client of the servers behind APIServices. */
  readonly remote: Client;
  readonly apiServices: ApiServices;
  readonly discovery: Pick<DiscoveryManager, "current" | "onChange">;
}

/** Client for components in the server's process: routes each call to this or to another server. */
export class AggregatingClient implements Client {
  constructor(private readonly options: AggregatingClientOptions) {}

  get domain(): Client["domain"] {
    return this.options.local.domain;
  }

  onServed(listener: () => void): () => void {
    const { local, discovery } = this.options;
    const subscriptions = [local.onServed?.(listener), discovery.onChange(listener)];
    return () => subscriptions.forEach((unsubscribe) => unsubscribe?.());
  }

  /** Stale group versions of other servers are listed in `failures`. */
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
    return this.clientFor(resource).get(resource, at, options);
  }

  list<T extends ApiObject>(resource: Handle<T>, options?: ListOptions): Promise<Page<T>> {
    return this.clientFor(resource).list(resource, options);
  }

  watch<T extends ApiObject>(
    resource: Handle<T>,
    options: WatchOptions,
  ): AsyncIterable<WatchEvent<T>> {
    return this.clientFor(resource).watch(resource, options);
  }

  create<T extends ApiObject>(
    resource: Handle<T>,
    object: Draft<T>,
    options?: WriteOptions,
  ): Promise<T> {
    return this.clientFor(resource).create(resource, object, options);
  }

  update<T extends ApiObject>(
    resource: Handle<T>,
    object: Draft<T>,
    options?: WriteOptions,
  ): Promise<T> {
    return this.clientFor(resource).update(resource, object, options);
  }

  patch<T extends ApiObject>(resource: Handle<T>, at: Place, patch: Patch): Promise<T> {
    return this.clientFor(resource).patch(resource, at, patch);
  }

  delete(resource: Handle, at: Place, options?: DeleteOptions): Promise<void> {
    return this.clientFor(resource).delete(resource, at, options);
  }

  deleteCollection(resource: Handle, at: Place, options?: DeleteOptions): Promise<void> {
    return this.clientFor(resource).deleteCollection(resource, at, options);
  }

  getRaw(path: string, options?: CallOptions): Promise<unknown> {
    const { local, remote, apiServices } = this.options;
    const client = apiServices.remoteFor(path) === undefined ? local : remote;
    return client.getRaw(path, options);
  }

  private clientFor(resource: Handle): Client {
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
