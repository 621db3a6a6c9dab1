import { subresourceKinds } from "#api";
import { assert, memoize } from "#base";
import { Catalog, notImplemented, type Resource } from "#meta";
import { StoreFault } from "#storage";
import { repairOf } from "./allocation/repair.ts";
import { familiesOf, ServiceAllocator } from "./allocation/service-allocator.ts";
import { connect } from "./connect/index.ts";
import type { Registry, Target, Allocator } from "./contract.ts";
import { removeCollection } from "./delete/delete-collection.ts";
import type { Environment, RegistryOptions } from "./context.ts";
import { ConvertedEntries } from "./codec/converted-entries.ts";
import { convertedStore } from "./codec/converted-store.ts";
import { faultError } from "./codec/faults.ts";
import { identitiesOf } from "./write/identities.ts";
import { writeMutex } from "./write/write-conflict.ts";
import { namespaceLifecycle } from "./admission/namespace-lifecycle.ts";
import { list } from "./read/list.ts";
import { timestampsOf } from "./write/metadata.ts";
import { NamespaceCache, type NamespaceState } from "./admission/namespace-cache.ts";
import { create, patch, update } from "./write/pipeline.ts";
import { get } from "./read/get.ts";
import { remove } from "./delete/delete.ts";
import { collectionPrefix, StoredItem } from "./codec/stored.ts";
import { asking, refuseWatch, specialVerbs } from "./subresources/index.ts";
import { watch, watchBatches } from "./watch/watch.ts";

/**
 * The verbs for every kind of the catalog, over one store. What a client is to know is a
 * StatusError.
 */
export function createRegistry(options: RegistryOptions): Registry {
  const common = environmentOf(options);
  const of = (target: Pick<Target, "resource">) => environmentFor(common)(target.resource);
  const verbs = (target: Target) => verbsOf(common, target);
  const repair = repairOf(common);
  const batches: Registry["watchBatches"] = (target, watchOptions) => {
    refuseWatch(target);
    return watchBatches(of(target), target, watchOptions);
  };
  return {
    get: (target, getOptions) => guarded(() => verbs(target).get(of(target), target, getOptions)),
    list: (target, listOptions) =>
      guarded(() => verbs(target).list(of(target), target, listOptions)),
    isKnownEmpty: (target) =>
      of(target).store.collection(target.resource.keyPrefix).isKnownEmpty(collectionPrefix(target)),
    watch: (target, watchOptions) => watch(batches(target, watchOptions)),
    watchBatches: batches,
    create: (target, body, writeOptions) =>
      guarded(() => verbs(target).create(of(target), target, { body, options: writeOptions })),
    update: (target, body, writeOptions) =>
      guarded(() => verbs(target).update(of(target), target, { body, options: writeOptions })),
    patch: (target, body, patchOptions) =>
      guarded(() => verbs(target).patch(of(target), target, { body, options: patchOptions })),
    delete: (target, deleteOptions) => guarded(() => remove(of(target), target, deleteOptions)),
    deleteCollection: (target, listOptions, deleteOptions) =>
      guarded(() =>
        removeCollection(of(target), target, { list: listOptions, options: deleteOptions }),
      ),
    connect: (target, request) => guarded(() => connect(of(target), target, request)),
    ...(repair === undefined ? {} : { repair: () => guarded(() => repair.run()) }),
  };
}

/** What a webhook converts, the verbs find converted in their store. */
const environmentFor = memoize((common: Environment) =>
  memoize((resource: Resource): Environment => {
    const { conversion } = resource.kind.custom ?? {};
    if (conversion === undefined) return common;
    const entries = new ConvertedEntries(resource, conversion);
    return { ...common, store: convertedStore(common.store, resource, entries) };
  }),
);

const usualVerbs = { get, list, create, update, patch };

/** Some subresources, and kinds that are never stored, have verbs of their own. */
function verbsOf(environment: Environment, target: Target): typeof usualVerbs {
  const answerer = environment.answerers.get(`${target.resource.keyPrefix}${target.subresource}`);
  if (answerer !== undefined) return { ...usualVerbs, create: asking(answerer) };
  const special = specialVerbs(target);
  if (special?.create === undefined) refuseTransient(target);
  return special === undefined ? usualVerbs : { ...usualVerbs, ...special };
}

function environmentOf(options: RegistryOptions): Environment {
  const { catalog, clock, random } = options;
  const { provide, mutating = [], validating = [], storageRoot = "/registry" } = options;
  const { serviceNetwork, answerers = new Map() } = options;
  const namespaces = new NamespaceCache(clock, (name) => readNamespace(environment, name));
  const identities = identitiesOf(random);
  const allocators = new Map<string, Allocator>();
  const environment: Environment = {
    ...options,
    storageRoot,
    mutating: [
      ...(provide === undefined ? [] : [provide]),
      (attributes) => namespaceLifecycle({ namespaces }, attributes),
      ...mutating,
    ],
    validating,
    timestamp: timestampsOf(clock),
    allocators,
    answerers,
    namespaces,
    mutex: writeMutex(clock),
    identities,
    spoken: new Catalog(subresourceKinds, catalog.domain),
    ipFamilies: serviceNetwork === undefined ? ["IPv4"] : familiesOf(serviceNetwork),
  };
  if (serviceNetwork !== undefined) {
    allocators.set("/services/specs/", new ServiceAllocator(environment, serviceNetwork));
  }
  return environment;
}

/** Kinds that can only be created are questions: there must be someone who answers. */
function refuseTransient({ resource, subresource }: Target): void {
  const { kind, verbs } = resource.kind;
  if (subresource !== "" || verbs.includes("get")) return;
  throw notImplemented(`this server does not answer a ${kind}`);
}

async function readNamespace(
  environment: Environment,
  name: string,
): Promise<NamespaceState | undefined> {
  const resource = environment.catalog.find("", "v1", "namespaces");
  assert(resource !== undefined, "the catalog has namespaces");
  const { entry } = await environment.store.get(`${resource.keyPrefix}${name}`);
  if (entry === undefined) return undefined;
  const { status } = new StoredItem(environment, { resource, subresource: "" }, entry).object;
  return { terminating: status.phase === "Terminating" };
}

/** The one place where a store's fault becomes what a client is told. */
async function guarded<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (fault) {
    throw fault instanceof StoreFault ? faultError(fault) : fault;
  }
}
