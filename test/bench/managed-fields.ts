/**
 * `npm run bench:managed-fields`: the cost of managedFields. Creates of several kinds in a registry
 * in memory, with and without managedFields; then server-side applies of large objects through a whole
 * server: the first, an unchanged one, and one with a change.
 */
import { createdFields, managedFieldsAtCreation, excludedAtCreation, setOf } from "#fieldmanager";
import { fromJson } from "#schema";
import { type RunningServer, startServer } from "../../cmd/keelson/index.ts";
import { testRegistry, type TestRegistry } from "../../pkg/registry/testing.ts";
import { configMap } from "./load/client.ts";
import { customResourceDefinition } from "../../pkg/crd/testing.ts";

const rounds = 2000;
const batch = 100;

function pod(containers: number): object {
  const container = (_each: unknown, n: number): object => ({
    name: `container-${n}`,
    image: `registry.example.com/team/image-${n}:v1.2.3`,
    command: ["/bin/run", "--verbose"],
    env: Array.from({ length: 4 }, (_one, index) => ({ name: `NAME_${index}`, value: "value" })),
    ports: [{ name: `port-${n}`, containerPort: 8000 + n, protocol: "TCP" }],
    resources: { requests: { cpu: "100m", memory: "64Mi" }, limits: { memory: "128Mi" } },
    volumeMounts: [{ name: "data", mountPath: "/data" }],
    livenessProbe: { httpGet: { path: "/healthz", port: 8000 + n }, periodSeconds: 10 },
  });
  const volumes = [{ name: "data", emptyDir: {} }];
  const spec = { containers: Array.from({ length: containers }, container), volumes };
  const labels = { app: "web", tier: "front", "app.kubernetes.io/name": "web" };
  return { apiVersion: "v1", kind: "Pod", metadata: { labels }, spec };
}

function deployment(): object {
  const { metadata, spec } = pod(1) as { readonly metadata: object; readonly spec: object };
  const selector = { matchLabels: { app: "web" } };
  const body = { replicas: 3, selector, template: { metadata, spec } };
  return { apiVersion: "apps/v1", kind: "Deployment", metadata: {}, spec: body };
}

interface Sample {
  readonly title: string;
  readonly path: string;
  readonly object: any;
}

const samples: readonly Sample[] = [
  {
    title: "config map of 1.3 kB",
    path: "v1/configmaps/ns",
    object: JSON.parse(configMap({ name: "x" }).toString("utf8")),
  },
  { title: "pod of 1 container", path: "v1/pods/ns", object: pod(1) },
  { title: "pod of 50 containers", path: "v1/pods/ns", object: pod(50) },
  { title: "deployment", path: "apps/v1/deployments/ns", object: deployment() },
];

/** Median CPU time of `work` in microseconds. */
async function micros(count: number, work: (n: number) => unknown): Promise<number> {
  const times: number[] = [];
  for (let start = 0; start < count; start += batch) {
    const began = process.cpuUsage();
    for (let n = start; n < start + batch; n++) await work(n);
    const { user, system } = process.cpuUsage(began);
    times.push((user + system) / batch);
  }
  return times.sort((a, b) => a - b)[times.length >> 1] ?? 0;
}

/** Microseconds of a create, measured in turns with and without managedFields. */
async function creations({ path, object }: Sample): Promise<{ owned: number; bare: number }> {
  const forget = async ({ object: written }: { readonly object: any }) => {
    if (written !== undefined) delete written.metadata.managedFields;
    return [];
  };
  const [owned, bare] = [await testRegistry(), await testRegistry({ mutating: [forget] })];
  const post = (api: TestRegistry, run: number) => (n: number) => {
    const named = { ...object, metadata: { ...object.metadata, name: `x-${run}-${n}` } };
    return api.post(path, JSON.stringify(named));
  };
  const results = { owned: [] as number[], bare: [] as number[] };
  for (let run = 0; run < 6; run++) {
    results.owned.push(await micros(rounds / 4, post(owned, run)));
    results.bare.push(await micros(rounds / 4, post(bare, run)));
  }
  return { owned: Math.min(...results.owned), bare: Math.min(...results.bare) };
}

/** Time in microseconds to compute the managed fields of a create. */
function ownership({ path, object }: Sample, api: TestRegistry): Promise<number> {
  const { struct, groupVersion } = api.request(path).resource;
  const decoded = fromJson(struct, object, { root: true });
  const left = excludedAtCreation(setOf(["f:status"]));
  const by = { manager: "kubectl", apiVersion: groupVersion, now: "2030-01-01T00:00:00Z" };
  return micros(rounds, () => managedFieldsAtCreation(by, createdFields(struct, decoded, left)));
}

async function benchCreates(): Promise<void> {
  const api = await testRegistry();
  console.log("create, microseconds             owned   bare  finding owners  owned / without");
  for (const sample of samples) {
    await creations(sample);
    const { owned, bare } = await creations(sample);
    const finding = await ownership(sample, api);
    const ratio = owned / (bare - finding);
    const figures = [owned, bare, finding].map((value) => value.toFixed(0).padStart(8)).join("");
    console.log(`${sample.title.padEnd(30)}${figures}${ratio.toFixed(2).padStart(20)}`);
  }
}

/** A definition with a keyed list, and an object of about 1 MB. */
const definition = customResourceDefinition(
  { plural: "things", kind: "Thing" },
  { schema: schema() },
);

function schema(): object {
  const text = { type: "string" };
  const element = { type: "object", required: ["name"], properties: { name: text, value: text } };
  const keyed = { "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"] };
  const items = { type: "array", ...keyed, items: element };
  const spec = { type: "object", properties: { items } };
  return { type: "object", properties: { spec } };
}

function thing(elements: number): any {
  const items = Array.from({ length: elements }, (_each, n) => ({
    name: `name-${n}`,
    value: "v".repeat(130),
  }));
  const typeMeta = { apiVersion: "example.com/v1", kind: "Thing" };
  return { ...typeMeta, metadata: { name: "big" }, spec: { items } };
}

interface Request {
  readonly method: string;
  readonly type: string;
  readonly body: object;
}

async function send(server: RunningServer, path: string, request: Request): Promise<number> {
  const { method, type, body } = request;
  const text = JSON.stringify(body);
  const began = performance.now();
  const headers = { "content-type": `application/${type}` };
  const answer = await server.fetch(path, { method, headers, body: text });
  const said = await answer.text();
  if (answer.status >= 400) throw new Error(said.slice(0, 1000));
  return performance.now() - began;
}

interface Applied {
  readonly title: string;
  /** Path of the collection. */
  readonly path: string;
  readonly object: any;
  /** The object with a change. */
  readonly changed: (round: number) => object;
}

async function benchApply(server: RunningServer, applied: Applied): Promise<void> {
  const { title, path, object, changed } = applied;
  const times = { first: [] as number[], again: [] as number[], change: [] as number[] };
  for (let round = 0; round < 12; round++) {
    const name = `x-${round}`;
    const where = `${path}/${name}?fieldManager=bench`;
    const apply = (body: any): Promise<number> => {
      const named = { ...body, metadata: { ...body.metadata, name } };
      return send(server, where, { method: "PATCH", type: "apply-patch+yaml", body: named });
    };
    times.first.push(await apply(object));
    times.again.push(await apply(object));
    times.change.push(await apply(changed(round)));
  }
  const figures = Object.entries(times).map(([what, found]) => {
    const middle = found.sort((a, b) => a - b)[found.length >> 1] ?? 0;
    return `${what} ${middle.toFixed(1)}`;
  });
  console.log(`${title.padEnd(44)} ${figures.join("   ")}`);
}

async function benchApplies(): Promise<void> {
  // Without controllers, pods have no ServiceAccounts.
  const admissionPlugins = { disable: ["ServiceAccount"] };
  const server = await startServer({ controllers: false, admissionPlugins });
  const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  await send(server, definitions, { method: "POST", type: "json", body: definition });
  const things = "/apis/example.com/v1/namespaces/default/things";
  while ((await server.fetch(things)).status !== 200) await new Promise(setImmediate);
  console.log("\nserver-side apply, milliseconds");
  const large = pod(50) as any;
  await benchApply(server, {
    title: "pod of 50 containers",
    path: "/api/v1/namespaces/default/pods",
    object: large,
    changed: (round) => ({ ...large, metadata: { labels: { round: String(round) } } }),
  });
  const big = thing(6_000);
  const bytes = JSON.stringify(big).length / 2 ** 20;
  await benchApply(server, {
    title: `custom resource of ${bytes.toFixed(2)} MB, 6,000 elements`,
    path: things,
    object: big,
    changed: (round) => {
      const items = [...big.spec.items, { name: `more-${round}`, value: "v" }];
      return { ...big, spec: { items } };
    },
  });
  await server.close();
}

await benchCreates();
await benchApplies();
