import { subresourceKinds } from "#api";
import { assert, memoize } from "#base";
import { Catalog, notImplemented, type Resource } from "#meta";
import { StoreFault } from "#storage";
import { repairOf } from "./allocation/repair.ts";
import { familiesOf, ServiceAllocator } from "./allocation/service-allocator.ts";
import { connect } from "./connect/index.ts";
import type { Registry, ResourceRequest, Allocator } from "./contract.ts";
import { deleteCollection } from "./delete/delete-collection.ts";
import type { RegistryContext, RegistryOptions } from "./context.ts";
import { ConvertedEntries } from "./codec/converted-entries.ts";
import { convertedStore } from "./codec/converted-store.ts";
import { faultError } from "./codec/faults.ts";
import { identitiesOf } from "./identities.ts";
import { writeMutex } from "./write/write-conflict.ts";
import { namespaceLifecycle } from "./admission/namespace-lifecycle.ts";
import { list } from "./read/list.ts";
import { secondTimestamps } from "./write/metadata.ts";
import { NamespaceCache, type NamespaceState } from "./admission/namespace-cache.ts";
import { create, patch, restore, update } from "./write/pipeline.ts";
import { cached, get } from "./read/get.ts";
import { deleteObject } from "./delete/delete.ts";
import { collectionPrefix, StoredItem } from "./codec/stored.ts";
import { virtualCreate, rejectComputedWatch, specialVerbs } from "./subresources/index.ts";
import { watch, watchBatches } from "./watch/watch.ts";

/**
 * The verbs of every kind of the catalog, over one store. Errors for clients are StatusErrors.
 */
export function createRegistry(options: RegistryOptions): Registry {
  const common = createContext(options);
  const of = ({ resource }: Pick<ResourceRequest, "resource">) => {
    common.clock.note?.(`requests for ${resource.plural}`);
    return contextFor(common)(resource);
  };
  const verbs = (request: ResourceRequest) => verbsOf(common, request);
  const repair = repairOf(common);
  const batches: Registry["watchBatches"] = (request, watchOptions) => {
    rejectComputedWatch(request);
    return watchBatches(of(request), request, watchOptions);
  };
  return {
    gates: common.gates,
    get: (request, getOptions) =>
      withStatusErrors(() => verbs(request).get(of(request), request, getOptions)),
    list: (request, listOptions) =>
      withStatusErrors(() => verbs(request).list(of(request), request, listOptions)),
    cached: (request) => cached(of(request), request),
    isKnownEmpty: (request) =>
      of(request)
        .store.collection(request.resource.keyPrefix)
        .isKnownEmpty(collectionPrefix(request)),
    cachedSize: (request) =>
      of(request)
        .store.collection(request.resource.keyPrefix)
        .cachedSize(collectionPrefix(request)),
    watch: (request, watchOptions) => watch(batches(request, watchOptions)),
    watchBatches: batches,
    create: (request, body, writeOptions) =>
      withStatusErrors(() =>
        verbs(request).create(of(request), request, { body, options: writeOptions }),
      ),
    restore: (request, body) => withStatusErrors(() => restore(of(request), request, body)),
    adopt: (objects) => {
      for (const [key, object] of objects) common.adopted.set(key, object);
    },
    update: (request, body, writeOptions) =>
      withStatusErrors(() =>
        verbs(request).update(of(request), request, { body, options: writeOptions }),
      ),
    patch: (request, body, patchOptions) =>
      withStatusErrors(() =>
        verbs(request).patch(of(request), request, { body, options: patchOptions }),
      ),
    delete: (request, deleteOptions) =>
      withStatusErrors(() => deleteObject(of(request), request, deleteOptions)),
    deleteCollection: (request, listOptions, deleteOptions) =>
      withStatusErrors(() =>
        deleteCollection(of(request), request, { list: listOptions, options: deleteOptions }),
      ),
    connect: (request, connectRequest) =>
      withStatusErrors(() => connect(of(request), request, connectRequest)),
    namespaceLifecycle: (attributes) => namespaceLifecycle(common, attributes),
    ...(repair === undefined ? {} : { repair: () => withStatusErrors(() => repair.run()) }),
  };
}

/** The context of a resource; if a webhook converts it, its store converts on reads and writes. */
const contextFor = memoize((common: RegistryContext) =>
  memoize((resource: Resource): RegistryContext => {
    const { conversion } = resource.kind.custom ?? {};
    if (conversion === undefined) return common;
    const entries = new ConvertedEntries(resource, conversion);
    return { ...common, store: convertedStore(common.store, resource, entries) };
  }),
);

const genericVerbs = { get, list, create, update, patch };

/** The generic verbs, or those of special subresources and of kinds that are not stored. */
function verbsOf(registry: RegistryContext, request: ResourceRequest): typeof genericVerbs {
  const createHandler = registry.createHandlers.get(
    `${request.resource.keyPrefix}${request.subresource}`,
  );
  if (createHandler !== undefined) return { ...genericVerbs, create: virtualCreate(createHandler) };
  const special = specialVerbs(request);
  if (special?.create === undefined) refuseTransient(request);
  return special === undefined ? genericVerbs : { ...genericVerbs, ...special };
}

function createContext(options: RegistryOptions): RegistryContext {
  const { catalog, clock, random } = options;
  const { mutating = [], validating = [], storageRoot = "/registry" } = options;
  const { serviceNetwork, createHandlers = new Map() } = options;
  const namespaces = new NamespaceCache(clock, (name) => readNamespace(registry, name));
  const identities = identitiesOf(random);
  const allocators = new Map<string, Allocator>();
  const registry: RegistryContext = {
    ...options,
    storageRoot,
    mutating,
    validating,
    timestamp: secondTimestamps(clock),
    allocators,
    createHandlers,
    adopted: new Map(),
    namespaces,
    mutex: writeMutex(clock),
    identities,
    subresourceKinds: new Catalog(subresourceKinds, catalog.domain),
    ipFamilies: serviceNetwork === undefined ? ["IPv4"] : familiesOf(serviceNetwork),
  };
  if (serviceNetwork !== undefined) {
    allocators.set("/services/specs/", new ServiceAllocator(registry, serviceNetwork));
  }
  return registry;
}

/** Throws 501 for a kind that can only be created, such as a review, if it has no handler. */
function refuseTransient({ resource, subresource }: ResourceRequest): void {
  const { kind, verbs } = resource.kind;
  if (subresource !== "" || verbs.includes("get")) return;
  throw notImplemented(`this server does not answer a ${kind}`);
}

async function readNamespace(
  registry: RegistryContext,
  name: string,
): Promise<NamespaceState | undefined> {
  const resource = registry.catalog.find("", "v1", "namespaces");
  assert(resource !== undefined, "the catalog has namespaces");
  const { entry } = await registry.store.get(`${resource.keyPrefix}${name}`);
  if (entry === undefined) return undefined;
  const { status } = new StoredItem(registry, { resource, subresource: "" }, entry).object;
  return { terminating: status.phase === "Terminating" };
}

/** Converts the StoreFaults of a request to StatusErrors. */
async function withStatusErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (fault) {
    throw fault instanceof StoreFault ? faultError(fault) : fault;
  }
}
