/** Metrics of the store, with kube-apiserver's names. */
import { setMaxListeners } from "node:events";
import type { Clock } from "#base";
import type { Catalog } from "#meta";
import type { Instruments, MetricDefinition } from "#request";
import {
  type Backend,
  type CollectionStatistics,
  type ObjectStore,
  prefixEnd,
  StoreFault,
  type Transaction,
} from "#storage";

const seconds = [
  0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45,
  60,
];
const operation = ["operation", "group", "resource"];

const duration: MetricDefinition = {
  name: "etcd_request_duration_seconds",
  kind: "histogram",
  help: "Latency of requests to the store in seconds.",
  labels: operation,
  buckets: seconds,
};
const total: MetricDefinition = {
  name: "etcd_requests_total",
  kind: "counter",
  help: "Number of requests to the store, by operation and resource.",
  labels: operation,
};
const errors: MetricDefinition = {
  name: "etcd_request_errors_total",
  kind: "counter",
  help: "Number of failed requests to the store, by operation and resource.",
  labels: operation,
};
const storedObjects: MetricDefinition = {
  name: "apiserver_storage_objects",
  kind: "gauge",
  help: "Number of objects in the store; -1 = counting failed.",
  labels: ["resource"],
};
const resourceObjects: MetricDefinition = {
  name: "apiserver_resource_objects",
  kind: "gauge",
  help: "Number of objects in the store; -1 = counting failed.",
  labels: ["group", "resource"],
};

const place = ["group", "resource"];

/** Metrics of each watch cache, with functions that return their values. */
const cacheMetrics: readonly (readonly [
  definition: MetricDefinition,
  value: (statistics: CollectionStatistics) => number,
])[] = [
  [
    {
      name: "apiserver_watch_cache_events_received_total",
      kind: "counter",
      help: "Events that the watch cache received from the store.",
      labels: place,
    },
    ({ received }) => received,
  ],
  [
    {
      name: "apiserver_watch_cache_events_dispatched_total",
      kind: "counter",
      help: "Number of times that the watch cache notified a watch dispatcher of changes.",
      labels: place,
    },
    ({ notifications }) => notifications,
  ],
  [
    {
      name: "apiserver_watch_cache_initializations_total",
      kind: "counter",
      help: "Number of times that the watch cache was initialized from the store.",
      labels: place,
    },
    ({ fills }) => fills,
  ],
  [
    {
      name: "watch_cache_capacity",
      kind: "gauge",
      help: "Number of past changes that the watch cache holds.",
      labels: place,
    },
    ({ changes }) => changes,
  ],
  [
    {
      name: "apiserver_watch_cache_resource_version",
      kind: "gauge",
      help: "Resource version up to which the watch cache is current.",
      labels: place,
    },
    ({ revision }) => revision,
  ],
];

const readWait: MetricDefinition = {
  name: "apiserver_watch_cache_read_wait_seconds",
  kind: "histogram",
  help: "Time in seconds that reads waited for the watch cache to become fresh enough.",
  labels: place,
  buckets: [0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3],
};
const consistentReads: MetricDefinition = {
  name: "apiserver_watch_cache_consistent_read_total",
  kind: "counter",
  help: "Number of consistent reads from the watch cache, by fallback and success.",
  labels: ["fallback", ...place, "success"],
};

const lists: MetricDefinition = {
  name: "apiserver_storage_list_total",
  kind: "counter",
  help: "Number of list requests served from the store instead of the watch cache.",
  labels: place,
};
/** The store selects by key only, so all three counters of a list are equal. */
const listed = ["fetched", "evaluated", "returned"].map((what): MetricDefinition => ({
  name: `apiserver_storage_list_${what}_objects_total`,
  kind: "counter",
  help: `Number of objects ${what} by list requests served from the store.`,
  labels: place,
}));

/** Definitions to register with the instruments. */
export const storageMetrics: readonly MetricDefinition[] = [
  lists,
  ...listed,
  ...cacheMetrics.map(([definition]) => definition),
  readWait,
  consistentReads,
  duration,
  total,
  errors,
  storedObjects,
  resourceObjects,
];

interface Place {
  readonly group: string;
  readonly resource: string;
}

export interface Measuring {
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly root: string;
  readonly instruments: Instruments;
}

const elsewhere: Place = { group: "", resource: "" };
const countedEveryMs = 30_000;
const countingMs = 5_000;

/** Wraps a backend so that each request to it is counted and timed. */
export function measuredBackend(backend: Backend, measuring: Measuring): Backend {
  const { instruments, root } = measuring;
  const placeOf = placesOf(measuring);
  const timed = async <T>(what: string, key: string, work: Promise<T>): Promise<T> => {
    const started = performance.now();
    const labels = { operation: what, ...placeOf(key) };
    instruments.add(total.name, labels, 1);
    try {
      return await work;
    } catch (error) {
      if (error instanceof StoreFault) instruments.add(errors.name, labels, 1);
      throw error;
    } finally {
      instruments.observe(duration.name, labels, (performance.now() - started) / 1000);
    }
  };
  return {
    get: (key, options) => timed("get", key, backend.get(key, options)),
    range: async (options) => {
      const isList = options.to !== undefined;
      const found = await timed(isList ? "list" : "get", options.from, backend.range(options));
      if (!isList) return found;
      const labels = { ...placeOf(options.from) };
      instruments.add(lists.name, labels, 1);
      for (const { name } of listed) instruments.add(name, labels, found.entries.length);
      return found;
    },
    txn: (transaction) => timed(...described(transaction), backend.txn(transaction)),
    watch: (options) => backend.watch(options),
    requestProgress: () => backend.requestProgress(),
    compact: (revision) => timed("compact", root, backend.compact(revision)),
    revision: (signal) => timed("revision", root, backend.revision(signal)),
    get oldest() {
      return backend.oldest;
    },
    [Symbol.asyncDispose]: () => backend[Symbol.asyncDispose](),
  };
}

/** Returns a function that maps a key to its group and resource. */
function placesOf({ catalog, root }: Measuring): (key: string) => Place {
  const places = new Map<string, Place>();
  for (const { keyPrefix, hub, plural } of catalog.resources) {
    places.set(keyPrefix, { group: hub.group, resource: plural });
  }
  return (key) => {
    const path = key.startsWith(root) ? key.slice(root.length) : key;
    const first = path.indexOf("/", 1) + 1;
    const second = path.indexOf("/", first) + 1;
    return places.get(path.slice(0, first)) ?? places.get(path.slice(0, second)) ?? elsewhere;
  };
}

function described({ compare, then }: Transaction): [what: string, key: string] {
  const [write] = then;
  if (write === undefined) return ["get", compare[0]?.key ?? ""];
  if ("delete" in write) return ["delete", write.delete];
  return [compare[0]?.modRevision === 0 ? "create" : "update", write.put];
}

/** Observes consistent reads that wait for the watch cache of a prefix. */
export function readWaits(measuring: Measuring): (prefix: string) => (seconds: number) => void {
  const placeOf = placesOf(measuring);
  return (prefix) => measuring.instruments.observer(readWait.name, { ...placeOf(prefix) });
}

/** Reads the metrics of the watch caches when they are scraped. */
export function observeCaches(store: ObjectStore, measuring: Measuring): void {
  const { instruments } = measuring;
  const placeOf = placesOf(measuring);
  instruments.beforeRead(() => {
    for (const statistics of store.statistics()) {
      const labels = { ...placeOf(statistics.prefix) };
      for (const [{ name }, value] of cacheMetrics)
        instruments.set(name, labels, value(statistics));
      const read = { ...labels, fallback: "false" };
      const { consistentReads: good, failedReads: bad } = statistics;
      instruments.set(consistentReads.name, { ...read, success: "true" }, good);
      instruments.set(consistentReads.name, { ...read, success: "false" }, bad);
    }
  });
}

/** Counts stored objects when metrics are scraped, at a bounded rate. */
export function countObjects(backend: Backend, measuring: Measuring): void {
  const { catalog, clock, root, instruments } = measuring;
  let counted = -Infinity;
  instruments.beforeRead(async () => {
    if (clock.monotonic() - counted < countedEveryMs) return;
    counted = clock.monotonic();
    const signal = AbortSignal.timeout(countingMs);
    // One listener for each of the concurrent counts.
    setMaxListeners(0, signal);
    const stored = new Map(catalog.resources.map((each) => [each.keyPrefix, each]));
    await Promise.all(
      [...stored].map(async ([prefix, { hub, plural }]) => {
        const from = `${root}${prefix}`;
        const range = { from, to: prefixEnd(from), limit: 1, keysOnly: true, signal };
        const count = await backend.range(range).then(
          (found) => found.count,
          () => -1,
        );
        const { group } = hub;
        const resource = group === "" ? plural : `${plural}.${group}`;
        instruments.set(storedObjects.name, { resource }, count);
        instruments.set(resourceObjects.name, { group, resource: plural }, count);
      }),
    );
  });
}
