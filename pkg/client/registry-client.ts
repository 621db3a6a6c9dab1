import { memoize } from "#base";
import { type Catalog, compareVersions, genericFailure, type Resource } from "#meta";
import {
  type Item,
  type ItemEvent,
  jsonBody,
  defaultDeleteOptions,
  defaultWriteOptions,
  type Registry,
  type ResourceRequest,
} from "#registry";
import type { User } from "#request";
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
  Selection,
  WriteOptions,
  WatchEvent,
  WatchOptions,
} from "./contract.ts";

export interface RegistryClientOptions {
  readonly registry: Registry;
  readonly catalog: Catalog;
  readonly user: User;
  readonly userAgent: string;
  /** Lifetime of the client: aborts calls in flight. */
  readonly signal: AbortSignal;
  /** Reads paths that are not in the catalog, as the user; absent = `getRaw` fails with 404. */
  readonly getRaw?: (path: string, asking: RawReader) => Promise<unknown>;
}

/** User, user agent and lifetime of a raw read. */
export interface RawReader {
  readonly user: User;
  readonly userAgent: string;
  readonly signal: AbortSignal;
}

/**
 * An in-process Client on the registry. Objects are shared with the server's caches, so that they need
 * no additional memory.
 */
export class RegistryClient implements Client {
  constructor(private readonly options: RegistryClientOptions) {}

  get domain(): Catalog["domain"] {
    return this.options.catalog.domain;
  }

  onServed(listener: () => void): () => void {
    return this.options.catalog.onChange(listener);
  }

  discover(): Promise<Discovery> {
    const { catalog } = this.options;
    const resources = [...catalog.groups].flatMap((group) =>
      [...catalog.inGroup(group)].sort((a, b) => compareVersions(a.version, b.version)),
    );
    return Promise.resolve({ resources: resources.map(discovered), failures: new Map() });
  }

  async get<T extends ApiObject>(
    resource: Handle<T>,
    at: Place,
    options: GetOptions = {},
  ): Promise<T> {
    const { resourceVersion = "", metadataOnly } = options;
    const target = this.target(resource, at, options);
    const item = await this.options.registry.get(target, { resourceVersion });
    return toServedVersion(target, item, metadataOnly);
  }

  async list<T extends ApiObject>(
    resource: Handle<T>,
    options: ListOptions = {},
  ): Promise<Page<T>> {
    const target = this.target(resource, placeOf(options), options);
    const list = await this.options.registry.list(target, listOptions(options));
    const items: T[] = [];
    for await (const chunk of list.chunks) {
      for (const item of chunk) items.push(toServedVersion(target, item, options.metadataOnly));
    }
    const continueToken = list.next?.continueToken ?? "";
    return { items, resourceVersion: String(list.revision), continueToken };
  }

  async *watch<T extends ApiObject>(
    resource: Handle<T>,
    options: WatchOptions,
  ): AsyncGenerator<WatchEvent<T>> {
    const { sendInitialEvents, timeoutSeconds, metadataOnly } = options;
    const target = this.target(resource, placeOf(options), options);
    const events = this.options.registry.watch(target, {
      ...listOptions(options),
      resourceVersionMatch: sendInitialEvents === true ? "NotOlderThan" : "",
      allowBookmarks: true,
      sendInitialEvents,
      timeoutSeconds,
    });
    for await (const event of events) yield toWatchEvent(target, event, metadataOnly);
  }

  async create<T extends ApiObject>(
    resource: Handle<T>,
    object: Draft<T>,
    options: WriteOptions = {},
  ): Promise<T> {
    const { namespace = "", name = "" } = object.metadata;
    const { subresource = "" } = options;
    const at = subresource === "" ? { namespace } : { namespace, name, subresource };
    const target = this.target(resource, at, options);
    const body = jsonBody({ ...typeMeta(resource), ...object });
    return toServedVersion(
      target,
      (await this.options.registry.create(target, body, defaultWriteOptions)).item,
    );
  }

  async update<T extends ApiObject>(
    resource: Handle<T>,
    object: Draft<T>,
    options: WriteOptions = {},
  ): Promise<T> {
    const { namespace = "", name = "" } = object.metadata;
    const { subresource = "" } = options;
    const target = this.target(resource, { namespace, name, subresource }, options);
    const body = jsonBody({ ...typeMeta(resource), ...object });
    return toServedVersion(
      target,
      (await this.options.registry.update(target, body, defaultWriteOptions)).item,
    );
  }

  async patch<T extends ApiObject>(resource: Handle<T>, at: Place, patch: Patch): Promise<T> {
    const target = this.target(resource, at, patch);
    const applied = patch.type === "apply" ? patch : { fieldManager: "", force: undefined };
    const { fieldManager, force } = applied;
    const options = { ...defaultWriteOptions, patchType: patch.type, fieldManager, force };
    const { item } = await this.options.registry.patch(target, jsonBody(patch.body), options);
    return toServedVersion(target, item);
  }

  getRaw(path: string, { signal: call }: CallOptions = {}): Promise<unknown> {
    const { user, userAgent, signal, getRaw } = this.options;
    if (getRaw === undefined) return Promise.reject(genericFailure(404));
    return getRaw(path, { user, userAgent, signal: call ?? signal });
  }

  async delete(resource: Handle, at: Place, options: DeleteOptions = {}): Promise<void> {
    const target = this.target(resource, at, options);
    await this.options.registry.delete(target, deleteOptions(options));
  }

  async deleteCollection(resource: Handle, at: Place, options: DeleteOptions = {}): Promise<void> {
    const target = this.target(resource, at, options);
    const { registry } = this.options;
    const deleted = await registry.deleteCollection(
      target,
      listOptions({}),
      deleteOptions(options),
    );
    for await (const chunk of deleted.chunks) void chunk;
  }

  private target(handle: Handle, at: Place, { signal }: CallOptions): ResourceRequest {
    const { catalog, user, userAgent, signal: own } = this.options;
    const { group, version, plural } = handle;
    const resource = catalog.find(group, version, plural);
    const { namespace = "", name = "", subresource = "" } = at;
    if (resource === undefined) throw genericFailure(404);
    const asking = { user, userAgent, context: { signal: signal ?? own } };
    return { resource, namespace, name, subresource, ...asking };
  }
}

const discovered = memoize(({ group, version, plural, kind }: Resource): DiscoveredResource => {
  const namespaced = kind.scope === "Namespaced";
  const subresources = kind.subresources.map(({ name }) => name);
  const names = { group, version, plural, kind: kind.kind };
  return { ...names, namespaced, verbs: kind.verbs, subresources };
});

function placeOf({ namespace = "" }: Selection): Place {
  return { namespace };
}

function typeMeta({ group, version, kind }: Handle): object {
  return { apiVersion: group === "" ? version : `${group}/${version}`, kind };
}

function listOptions(options: ListOptions) {
  return {
    labelSelector: options.labelSelector ?? "",
    fieldSelector: options.fieldSelector ?? "",
    resourceVersion: options.resourceVersion ?? "",
    resourceVersionMatch: options.resourceVersionMatch ?? "",
    limit: options.limit ?? 0,
    continueToken: options.continueToken ?? "",
  };
}

function deleteOptions(options: DeleteOptions) {
  const { propagationPolicy, preconditions, gracePeriodSeconds } = options;
  return { ...defaultDeleteOptions, propagationPolicy, preconditions, gracePeriodSeconds };
}

/** The object in the requested version. */
function toServedVersion<T extends ApiObject>(
  { resource, subresource }: ResourceRequest,
  { object }: Item,
  metadataOnly = false,
): T {
  const { convert } = resource.served;
  if (metadataOnly) return { metadata: object.metadata } as T;
  // A Scale is not an object of the resource's version.
  return convert === "hub" || subresource === "scale" ? object : convert.down(object);
}

function toWatchEvent<T extends ApiObject>(
  target: ResourceRequest,
  event: ItemEvent,
  metadataOnly = false,
): WatchEvent<T> {
  if (event.type === "ERROR") return event;
  if (event.type === "BOOKMARK") {
    const { revision, initialEventsEnd } = event;
    return { type: event.type, resourceVersion: String(revision), initialEventsEnd };
  }
  return { type: event.type, object: toServedVersion(target, event.item, metadataOnly) };
}
