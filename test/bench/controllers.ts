/**
 * `npm run bench:controllers [-- --manager=<command>] [--deployments=1000] [--pods=5000]
 * [--jobs=500] [--held=50000] [--backend=memory|etcd]`
 *
 * Costs of the workload controllers over HTTP, with an API server in a separate process and no client
 * rate limit:
 *
 *   deployments   a number of Deployments of 5 pods, from the first create to the last observed status
 *   pods          one Deployment with a number of pods
 *   jobs          a number of Jobs of one pod each, whose pods this program terminates at once
 *   held          resident memory of the controller manager with a number of pods in its informers
 *
 * `--manager` runs another controller manager instead, e.g. `kube-controller-manager`; it receives
 * kube-controller-manager's flags. Compare ratios of two runs on one machine.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { type EtcdCluster, startEtcd } from "../../pkg/storage/etcd/testing.ts";
import { root } from "../tidy/source.ts";
import { Connection } from "./load/client.ts";
import { cpuOf, residentMib, type ServerProcess, startServerProcess } from "./load/processes.ts";

const { values: options } = parseArgs({
  options: {
    manager: { type: "string", default: "" },
    backend: { type: "string", default: "memory" },
    deployments: { type: "string", default: "1000" },
    pods: { type: "string", default: "5000" },
    jobs: { type: "string", default: "500" },
    held: { type: "string", default: "50000" },
  },
});

const token = "bench";
const folder = mkdtempSync(path.join(tmpdir(), "keelson-controllers-"));
const podsPerDeployment = 5;
const inFlight = 32;
const controllers = ["deployment", "replicaset", "job"];

interface Scene {
  readonly server: ServerProcess;
  readonly manager: ServerProcess;
  readonly connection: Connection;
  /** Number of requests of this program so far. */
  own: number;
}

interface Figures {
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly requests: number;
  readonly residentMib: number;
}

async function send(scene: Scene, method: string, at: string, object?: object): Promise<any> {
  scene.own++;
  const type = method === "PATCH" ? { contentType: "application/merge-patch+json" } : {};
  const body = object === undefined ? {} : { body: Buffer.from(JSON.stringify(object)) };
  const answer = await scene.connection.call(method, at, { keep: true, ...type, ...body });
  const text = answer.body.toString();
  if (answer.status >= 400) throw new Error(`${method} ${at}: ${answer.status} ${text}`);
  return JSON.parse(text);
}

/** Runs `work` for every index, several at a time. */
async function each(count: number, work: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
}

async function until(done: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + 1_800_000;
  while (!(await done())) {
    if (performance.now() > end) throw new Error("the expected state was never reached");
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Number of requests that the API server completed, including watches, without those of this program. */
async function requestsOf(scene: Scene): Promise<number> {
  scene.own++;
  const { body } = await scene.connection.call("GET", "/metrics", { keep: true });
  const lines = body.toString().matchAll(/^apiserver_request_total\{.*\} (\d+)$/gm);
  const all = [...lines].reduce((sum, [, count]) => sum + Number(count), 0);
  return all - scene.own;
}

async function measured(scene: Scene, work: () => Promise<void>): Promise<Figures> {
  const before = { requests: await requestsOf(scene), cpu: cpuOf(scene.manager) };
  const began = performance.now();
  await work();
  const seconds = (performance.now() - began) / 1000;
  const cpuSeconds = (cpuOf(scene.manager) - before.cpu) / 1e6;
  const requests = (await requestsOf(scene)) - before.requests;
  return { seconds, cpuSeconds, requests, residentMib: residentMib(scene.manager) };
}

const podSpec = { containers: [{ name: "c", image: "registry.k8s.io/pause:3.10" }] };

function deployment(name: string, replicas: number): object {
  const labels = { app: name };
  const template = { metadata: { labels }, spec: podSpec };
  const spec = { replicas, selector: { matchLabels: labels }, template };
  return { apiVersion: "apps/v1", kind: "Deployment", metadata: { name }, spec };
}

async function makeDeployments(
  scene: Scene,
  namespace: string,
  { count, replicas }: { readonly count: number; readonly replicas: number },
): Promise<void> {
  await send(scene, "POST", "/api/v1/namespaces", { metadata: { name: namespace } });
  const at = `/apis/apps/v1/namespaces/${namespace}/deployments`;
  await each(count, (index) => send(scene, "POST", at, deployment(`d${index}`, replicas)));
  await until(async () => {
    const { items } = await send(scene, "GET", `${at}?resourceVersion=0`);
    return items.every(
      ({ metadata, status }: any) =>
        status?.observedGeneration === metadata.generation && status.replicas === replicas,
    );
  });
}

async function runJobs(scene: Scene, namespace: string, count: number): Promise<void> {
  await send(scene, "POST", "/api/v1/namespaces", { metadata: { name: namespace } });
  const at = `/apis/batch/v1/namespaces/${namespace}/jobs`;
  const template = { spec: { ...podSpec, restartPolicy: "Never" } };
  const made = each(count, (index) =>
    send(scene, "POST", at, { metadata: { name: `j${index}` }, spec: { template } }),
  );
  const pods = `/api/v1/namespaces/${namespace}/pods`;
  await until(async () => {
    const { items } = await send(scene, "GET", `${pods}?resourceVersion=0`);
    const running = items.filter(({ status }: any) => status.phase !== "Succeeded");
    await each(running.length, (index) => {
      const { name } = running[index].metadata;
      return send(scene, "PATCH", `${pods}/${name}/status`, { status: { phase: "Succeeded" } });
    });
    const jobs = await send(scene, "GET", `${at}?resourceVersion=0`);
    const isComplete = ({ status }: any) =>
      (status?.conditions ?? []).some(({ type }: any) => type === "Complete");
    return jobs.items.length === count && jobs.items.every(isComplete);
  });
  await made;
}

function startManager(url: string): ServerProcess {
  const kubeconfig = path.join(folder, "kubeconfig");
  const cluster = { name: "c", cluster: { server: url, "insecure-skip-tls-verify": true } };
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [cluster],
    users: [{ name: "u", user: { token } }],
    contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
    "current-context": "x",
  };
  writeFileSync(kubeconfig, JSON.stringify(config));
  const flags = [
    `--kubeconfig=${kubeconfig}`,
    `--controllers=${controllers.join()}`,
    "--leader-elect=false",
    "--secure-port=0",
    "--kube-api-qps=10000",
    "--kube-api-burst=20000",
  ];
  const own = [process.execPath, "dist/keelson.js", "controller-manager"];
  const [command, ...words] = options.manager === "" ? own : options.manager.split(" ");
  const child = spawn(command!, [...words, ...flags], { cwd: root, stdio: "ignore" });
  return { child, url };
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGTERM");
  await once(child, "exit");
}

function print(what: string, figures: Figures): void {
  const { seconds, cpuSeconds, requests, residentMib: mib } = figures;
  const texts = [
    what.padEnd(34),
    `${seconds.toFixed(1)} s`.padStart(9),
    `${cpuSeconds.toFixed(1)} s CPU`.padStart(12),
    `${requests} requests`.padStart(16),
    `${mib.toFixed(0)} MiB`.padStart(9),
  ];
  console.log(texts.join("  "));
}

async function run(): Promise<void> {
  const tokens = path.join(folder, "tokens.csv");
  writeFileSync(tokens, `${token},bench,bench,"system:masters"\n`);
  let etcd: EtcdCluster | undefined;
  const children: ChildProcess[] = [];
  try {
    if (options.backend === "etcd") etcd = await startEtcd();
    const storage =
      etcd === undefined
        ? ["--storage-backend=memory"]
        : [`--etcd-servers=${etcd.endpoints.join()}`];
    const server = await startServerProcess([
      `--token-auth-file=${tokens}`,
      "--disable-admission-plugins=ServiceAccount",
      `--cert-dir=${folder}`,
      ...storage,
    ]);
    children.push(server.child);
    const manager = startManager(server.url);
    children.push(manager.child);
    const connection = new Connection({ url: server.url, token });
    const scene: Scene = { server, manager, connection, own: 0 };
    // One Deployment first: the caches are synced, and the code is loaded.
    await makeDeployments(scene, "warm", { count: 1, replicas: 1 });
    const deployments = Number(options.deployments);
    const pods = Number(options.pods);
    const jobs = Number(options.jobs);
    const many = { count: deployments, replicas: podsPerDeployment };
    print(
      `${deployments} Deployments of ${podsPerDeployment} pods`,
      await measured(scene, () => makeDeployments(scene, "many", many)),
    );
    print(
      `1 Deployment of ${pods} pods`,
      await measured(scene, () => makeDeployments(scene, "one", { count: 1, replicas: pods })),
    );
    print(`${jobs} Jobs`, await measured(scene, () => runJobs(scene, "jobs", jobs)));
    const known = deployments * podsPerDeployment + pods + jobs;
    const more = Math.ceil((Number(options.held) - known) / 1000);
    if (more > 0) {
      const rest = { count: more, replicas: 1000 };
      const figures = await measured(scene, () => makeDeployments(scene, "held", rest));
      print(`${known + more * 1000} pods held`, figures);
    }
    connection.close();
  } finally {
    for (const child of children.toReversed()) await stop(child);
    await etcd?.[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  }
}

await run();
