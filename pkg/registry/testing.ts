import { setMaxListeners } from "node:events";
import { builtinKinds, featureGates } from "#api";
import { type Clock, type Random, seededRandom } from "#base";
import { Catalog, domainOf, type Resource, StatusError } from "#meta";
import { memoryBackend, objectStore, type Backend, type ObjectStore } from "#storage";
import type {
  Body,
  DeleteResponse,
  DeleteOptions,
  Item,
  ItemEvent,
  ItemList,
  ListOptions,
  PatchOptions,
  Registry,
  ResourceRequest,
  WatchOptions,
  WriteResponse,
  WriteOptions,
} from "./contract.ts";
import type { RegistryOptions } from "./context.ts";
import { createRegistry } from "./registry.ts";

/** A registry over a store in memory, with short calls that take a path and an object. */
export interface TestRegistry {
  readonly registry: Registry;
  readonly backend: Backend;
  readonly store: ObjectStore;
  readonly catalog: Catalog;
  readonly clock: TestClock;
  /**
   * `v1/configmaps/ns/name`, `v1/namespaces//name`, `coordination.k8s.io/v1/leases/ns/name/status`.
   */
  request(path: string): ResourceRequest;
  post(path: string, object: unknown, options?: Partial<WriteOptions>): Promise<WriteResponse>;
  put(path: string, object: unknown, options?: Partial<WriteOptions>): Promise<WriteResponse>;
  patch(path: string, patch: unknown, options?: Partial<PatchOptions>): Promise<WriteResponse>;
  get(path: string, resourceVersion?: string): Promise<Item>;
  list(path: string, options?: Partial<ListOptions>): Promise<ItemList>;
  /** Names of a list, in order. */
  names(path: string, options?: Partial<ListOptions>): Promise<string[]>;
  remove(path: string, options?: Partial<DeleteOptions>): Promise<DeleteResponse>;
  removeAll(path: string, list?: Partial<ListOptions>): Promise<ItemList>;
  watch(path: string, options?: Partial<WatchOptions>): AsyncIterable<ItemEvent>;
}

/** Time moves only by `advance`, which also wakes sleepers. */
export class TestClock implements Clock {
  #now = Date.parse("2030-01-01T00:00:00Z");
  readonly #sleepers = new Set<{ readonly at: number; readonly wake: () => void }>();

  now(): number {
    return this.#now;
  }
  nowMicros(): number {
    return this.#now * 1000;
  }
  monotonic(): number {
    return this.#now;
  }
  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    return new Promise((resolve, reject) => {
      const wake = (): void => {
        signal?.removeEventListener("abort", onAbort);
        resolve();
      };
      const sleeper = { at: this.#now + ms, wake };
      this.#sleepers.add(sleeper);
      const onAbort = (): void => {
        this.#sleepers.delete(sleeper);
        reject(signal?.reason);
      };
      signal?.addEventListener("abort", onAbort, { once: true });
    });
  }
  advance(ms: number): void {
    this.#now += ms;
    for (const sleeper of this.#sleepers) {
      if (sleeper.at > this.#now) continue;
      this.#sleepers.delete(sleeper);
      sleeper.wake();
    }
  }
}

const tester = { name: "tester", uid: "", groups: [], extra: new Map<string, string[]>() };

const defaultList: ListOptions = {
  labelSelector: "",
  fieldSelector: "",
  resourceVersion: "",
  resourceVersionMatch: "",
  limit: 0,
  continueToken: "",
};
const defaultWatch: WatchOptions = {
  ...defaultList,
  allowBookmarks: false,
  sendInitialEvents: undefined,
  timeoutSeconds: undefined,
};
const defaultWrite: WriteOptions = { dryRun: false, fieldManager: "", fieldValidation: "Warn" };
const defaultPatch: PatchOptions = { ...defaultWrite, patchType: "merge", force: undefined };
const defaultDelete: DeleteOptions = {
  dryRun: false,
  gracePeriodSeconds: undefined,
  propagationPolicy: undefined,
  orphanDependents: undefined,
  preconditions: undefined,
};

export interface TestOptions extends Partial<RegistryOptions> {
  /** Namespaces that exist at the start; default `ns`. */
  readonly namespaces?: readonly string[];
  readonly seed?: number;
}

export async function testRegistry(options: TestOptions = {}): Promise<TestRegistry> {
  const backend = memoryBackend();
  const store = options.store ?? objectStore(backend, { root: "/registry" });
  const catalog = new Catalog(builtinKinds, domainOf(), () => true);
  const clock = new TestClock();
  const random: Random = seededRandom(options.seed ?? 1);
  const registry: Registry = createRegistry({
    catalog,
    clock,
    random,
    gates: featureGates(new Map()),
    storageMediaType: "json",
    eventTtlSeconds: 3600,
    minRequestTimeoutMs: 1_800_000,
    ...options,
    // The only admission plugin, unless the test brings its own.
    mutating: options.mutating ?? [(attributes) => registry.namespaceLifecycle(attributes)],
    store,
  });
  const context = new AbortController();
  // All requests of a test share the signal.
  setMaxListeners(0, context.signal);
  const request = (path: string): ResourceRequest => {
    const [resource, [namespace = "", name = "", subresource = ""]] = resolvePath(catalog, path);
    return { resource, namespace, name, subresource, user: tester, context, userAgent: "test" };
  };
  const test: TestRegistry = {
    registry,
    backend,
    store,
    catalog,
    clock,
    request,
    post: (path, object, some) =>
      registry.create(request(path), jsonBody(object), { ...defaultWrite, ...some }),
    put: (path, object, some) =>
      registry.update(request(path), jsonBody(object), { ...defaultWrite, ...some }),
    patch: (path, object, some) =>
      registry.patch(request(path), jsonBody(object), { ...defaultPatch, ...some }),
    get: (path, resourceVersion = "") => registry.get(request(path), { resourceVersion }),
    list: (path, some) => registry.list(request(path), { ...defaultList, ...some }),
    names: async (path, some) => {
      const found = await registry.list(request(path), { ...defaultList, ...some });
      return (await collected(found.items)).map(({ object }) => object.metadata.name);
    },
    remove: (path, some) => registry.delete(request(path), { ...defaultDelete, ...some }),
    removeAll: (path, some) =>
      registry.deleteCollection(request(path), { ...defaultList, ...some }, defaultDelete),
    watch: (path, some) => registry.watch(request(path), { ...defaultWatch, ...some }),
  };
  for (const name of options.namespaces ?? ["ns"]) {
    await test.post("v1/namespaces", { metadata: { name } });
  }
  return test;
}

function resolvePath(catalog: Catalog, path: string): [Resource, string[]] {
  const parts = path.split("/");
  const versionParts = parts[0] === "v1" ? 1 : 2;
  const groupVersion = parts.slice(0, versionParts).join("/");
  const [plural = "", ...rest] = parts.slice(versionParts);
  const resource = catalog.resources.find(
    (each) => each.groupVersion === groupVersion && each.plural === plural,
  );
  if (resource === undefined) throw new Error(`no resource at ${path}`);
  return [resource, rest];
}

/** A JSON body: text as it is, any other value serialized. */
export function jsonBody(object: unknown): Body {
  const text = typeof object === "string" ? object : JSON.stringify(object);
  return { bytes: Buffer.from(text), format: "json" };
}

export async function collected<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

/** managedFields as `Update test 5 f:data{.,f:a}`, one line per entry; 5 = seconds of its time. */
export function managedFieldsLines({ item }: Pick<WriteResponse, "item">): readonly string[] {
  const entries: readonly any[] = item.object.metadata.managedFields ?? [];
  return entries.map(({ operation, manager, subresource, time, fieldsV1, apiVersion }) => {
    const where = subresource === undefined ? "" : `/${subresource}`;
    const when = time === undefined ? "never" : String(Number(time.slice(17, 19)));
    const version = apiVersion === "v1" ? "" : ` ${apiVersion}`;
    return `${operation} ${manager}${where} ${when}${version} ${fieldsText(fieldsV1.value)}`;
  });
}

function fieldsText(fields: object): string {
  const parts = Object.entries(fields).map(([element, below]) => {
    const inner = fieldsText(below as object);
    return inner === "" ? element : `${element}{${inner}}`;
  });
  return parts.join(",");
}

/** Applies metadata and data of the ConfigMap `a` in namespace `ns`. */
export function applyConfigMap(
  api: TestRegistry,
  manager: string,
  object: object,
  options: Partial<PatchOptions> = {},
): Promise<WriteResponse> {
  const { metadata, ...rest } = object as { readonly metadata?: object };
  const document = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "a", ...metadata },
    ...rest,
  };
  const all = { patchType: "apply", fieldManager: manager, ...options } as const;
  return api.patch("v1/configmaps/ns/a", document, all);
}

/** The error of a rejected request, as `409 AlreadyExists configmaps "a" already exists`. */
export async function refusal(work: Promise<unknown> | (() => unknown)): Promise<string> {
  try {
    await (typeof work === "function" ? work() : work);
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    const { code, reason = "-", message } = error.status;
    return `${code} ${reason} ${message}`;
  }
  return "accepted";
}
