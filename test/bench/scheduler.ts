/**
 * `npm run bench:scheduler`: pods bound per second, in workloads of Kubernetes' scheduler_perf, by
 * the scheduler in the process of a server in memory.
 *
 * --nodes N          number of nodes (500)
 * --pods N           number of measured pods (1000)
 * --only NAME        one workload
 * --url, --token     another API server, with the scheduler that runs beside it
 */
import { parseArgs } from "node:util";
import { setMaxListeners } from "node:events";
import { cryptoRandom, systemClock } from "#base";
import {
  type ApiObject,
  type Client,
  type Handle,
  http2Transport,
  HttpClient,
  Informer,
} from "#client";
import { domainOf, ignoreConflict } from "#meta";
import { type Endpoint, parseKubeconfig } from "#request";
import { startServer } from "../../cmd/keelson/index.ts";

interface Pod extends ApiObject {
  readonly spec: { readonly nodeName?: string; readonly restartPolicy?: string };
}

const core = { group: "", version: "v1" } as const;
const podHandle: Handle<Pod> = { ...core, plural: "pods", kind: "Pod", namespaced: true };
const nodeHandle: Handle<any> = { ...core, plural: "nodes", kind: "Node", namespaced: false };
const namespaceHandle: Handle = {
  ...core,
  plural: "namespaces",
  kind: "Namespace",
  namespaced: false,
};
const accountHandle: Handle = {
  ...core,
  plural: "serviceaccounts",
  kind: "ServiceAccount",
  namespaced: true,
};
const hostname = "kubernetes.io/hostname";
const zone = "topology.kubernetes.io/zone";
const concurrent = 64;

const { values } = parseArgs({
  options: {
    nodes: { type: "string", default: "500" },
    pods: { type: "string", default: "1000" },
    only: { type: "string", default: "" },
    url: { type: "string", default: "" },
    token: { type: "string", default: "" },
  },
});
const nodeCount = Number(values.nodes);
const podCount = Number(values.pods);

interface Workload {
  readonly name: string;
  readonly spec: object;
  readonly labels?: Readonly<Record<string, string>>;
  /** Pods that fill the nodes before. */
  readonly filler?: { readonly count: number; readonly spec: object };
}

const container = (cpu: string, memory: string) => ({
  containers: [{ name: "c", image: "i", resources: { requests: { cpu, memory } } }],
});
const usual = container("100m", "500Mi");
const labels = { color: "blue" };
const labelSelector = { matchLabels: labels };
const required = (topologyKey: string) => ({
  requiredDuringSchedulingIgnoredDuringExecution: [{ labelSelector, topologyKey }],
});

const workloads: readonly Workload[] = [
  { name: "SchedulingBasic", spec: usual },
  { name: "PodAffinity", spec: { ...usual, affinity: { podAffinity: required(zone) } }, labels },
  {
    name: "PodAntiAffinity",
    spec: { ...usual, affinity: { podAntiAffinity: required(hostname) } },
    labels,
  },
  {
    name: "TopologySpreading",
    spec: {
      ...usual,
      topologySpreadConstraints: [
        { maxSkew: 5, topologyKey: zone, whenUnsatisfiable: "DoNotSchedule", labelSelector },
      ],
    },
    labels,
  },
  {
    name: "PreemptionBasic",
    spec: { ...container("3", "500Mi"), priorityClassName: "bench-high" },
    filler: {
      count: 4,
      spec: { ...container("900m", "500Mi"), terminationGracePeriodSeconds: 0 },
    },
  },
];

async function inParallel(count: number, work: (at: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: concurrent }, worker));
}

/** Resolves once so many pods of the namespace are bound. */
function bound(informer: Informer<Pod>, names: string, count: number): Promise<void> {
  return new Promise((resolve) => {
    const seen = new Set<string>();
    const unsubscribe = informer.subscribe(({ type, object }) => {
      const { name } = object.metadata;
      if (type === "deleted" || !object.spec.nodeName || !name.startsWith(names)) return;
      seen.add(name);
      if (seen.size < count) return;
      setImmediate(() => unsubscribe());
      resolve();
    });
  });
}

async function measure(client: Client, workload: Workload, signal: AbortSignal): Promise<void> {
  const { name, spec, filler } = workload;
  const namespace = `bench-${name.toLowerCase()}`;
  await client.create(namespaceHandle, { metadata: { name: namespace } });
  const account = { metadata: { namespace, name: "default" } };
  await client.create(accountHandle, account).catch(ignoreConflict);
  const report = (what: string, error: unknown) => console.error(what, error);
  const common = { client, clock: systemClock, random: cryptoRandom, signal, report };
  const informer = new Informer<Pod>({ ...common, resource: podHandle, selection: { namespace } });
  void informer.run();
  await informer.untilSynced();
  const create = (prefix: string, body: object) => (at: number) =>
    client.create(podHandle, {
      metadata: { namespace, name: `${prefix}-${at}`, labels: workload.labels ?? {} },
      spec: { restartPolicy: "Never", ...body },
    });
  if (filler !== undefined) {
    const count = filler.count * nodeCount;
    const filled = bound(informer, "filler", count);
    await inParallel(count, create("filler", filler.spec));
    await filled;
  }
  const isLimited = name === "PodAntiAffinity" || name === "PreemptionBasic";
  const count = isLimited ? Math.min(podCount, nodeCount) : podCount;
  const done = bound(informer, "pod", count);
  const began = performance.now();
  await inParallel(count, create("pod", spec));
  await done;
  const seconds = (performance.now() - began) / 1000;
  console.log(
    `${name.padEnd(18)} ${count} pods on ${nodeCount} nodes: ${(count / seconds).toFixed(0)} pods/s`,
  );
  await client.deleteCollection(podHandle, { namespace }, { gracePeriodSeconds: 0 });
  while (informer.all()[Symbol.iterator]().next().done !== true) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

const life = new AbortController();
setMaxListeners(0, life.signal);
const server =
  values.url === ""
    ? await startServer({
        port: 0,
        storage: { kind: "memory" },
        controllers: false,
        scheduler: true,
      })
    : undefined;
const endpoint = (): Endpoint =>
  server === undefined
    ? {
        url: new URL(values.url),
        tls: { rejectUnauthorized: false },
        authorization: () => `Bearer ${values.token}`,
      }
    : parseKubeconfig(server.kubeconfig, () => "");
const send = http2Transport({ endpoint, clock: systemClock, signal: life.signal });
const client = new HttpClient({
  send,
  domain: domainOf(),
  clock: systemClock,
  userAgent: "bench",
  signal: life.signal,
});
const priorityClasses: Handle<any> = {
  group: "scheduling.k8s.io",
  version: "v1",
  plural: "priorityclasses",
  kind: "PriorityClass",
  namespaced: false,
};
await client.create(priorityClasses, { metadata: { name: "bench-high" }, value: 1000 });
const amounts = { cpu: "4", memory: "32Gi", pods: "110" };
const conditions = [{ type: "Ready", status: "True", reason: "KubeletReady", message: "ready" }];
await inParallel(nodeCount, async (at) => {
  const name = `node-${at}`;
  await client.create(nodeHandle, {
    metadata: { name, labels: { [hostname]: name, [zone]: `zone-${at % 3}` } },
    spec: {},
    status: { capacity: amounts, allocatable: amounts, conditions },
  });
  // Admission has tainted it as not ready.
  await client.patch(nodeHandle, { name }, { type: "merge", body: { spec: { taints: null } } });
});
for (const workload of workloads) {
  if (values.only === "" || values.only === workload.name) {
    await measure(client, workload, life.signal);
  }
}
console.log(`memory: ${(process.memoryUsage().rss / 2 ** 20).toFixed(0)} MiB resident`);
life.abort();
await server?.close();
