/** An API server with nodes and pods, in a separate process. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { type EtcdCluster, startEtcd } from "../../../pkg/storage/etcd/testing.ts";
import { jsonLines } from "../../../pkg/client/http/json-lines.ts";
import { Connection } from "../load/client.ts";
import { cpuOf, type ServerProcess, startServerProcess } from "../load/processes.ts";
import { stop } from "./programs.ts";
import {
  allocationOn,
  claimNamed,
  deviceClass,
  nodeNamed,
  type PodTemplate,
  sliceOf,
} from "./workloads.ts";

const token = "bench";
const inFlight = 32;
const deviceApi = "/apis/resource.k8s.io/v1";
/** Watched pods come with their metadata alone, which costs the same whichever scheduler runs. */
const metadataOnly = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

export class Cluster {
  private constructor(
    readonly folder: string,
    private readonly server: ServerProcess,
    private readonly etcd: EtcdCluster | undefined,
    private readonly connection: Connection,
  ) {}

  static async start(storage: string, nodes: number, zones: readonly string[]): Promise<Cluster> {
    const folder = mkdtempSync(path.join(tmpdir(), "keelson-scheduler-"));
    const tokens = path.join(folder, "tokens.csv");
    writeFileSync(tokens, `${token},bench,bench,"system:masters"\n`);
    const etcd = storage === "etcd" ? await startEtcd() : undefined;
    const flags =
      etcd === undefined
        ? ["--storage-backend=memory"]
        : [`--etcd-servers=${etcd.endpoints.join()}`];
    const server = await startServerProcess([
      ...flags,
      `--token-auth-file=${tokens}`,
      `--cert-dir=${folder}`,
      "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition,Priority",
    ]);
    const { url } = server;
    const cluster = new Cluster(folder, server, etcd, new Connection({ url, token }));
    await each(nodes, (at) => {
      const zone = zones[at % Math.max(zones.length, 1)];
      return cluster.send("POST", "/api/v1/nodes", nodeNamed(nodeName(at), zone));
    });
    return cluster;
  }

  get api() {
    return { url: this.server.url, token, folder: this.folder };
  }

  /** CPU time of the API server. */
  cpuSeconds(): number {
    return cpuOf(this.server) / 1e6;
  }

  async makeNamespace(name: string): Promise<void> {
    await this.send("POST", "/api/v1/namespaces", { metadata: { name } });
  }

  /** Creates pods `<prefix>-0`, `<prefix>-1` and so on; with `nodes` bound to them in turn. */
  async makePods(
    namespace: string,
    { labels = {}, spec, hasClaim = false }: PodTemplate,
    pods: { readonly prefix: string; readonly count: number; readonly nodes?: number },
  ): Promise<void> {
    const { prefix, count, nodes } = pods;
    await each(count, async (at) => {
      const name = `${prefix}-${at}`;
      const placed = nodes === undefined ? {} : { nodeName: nodeName(at % nodes) };
      const claims = { resourceClaims: [{ name: "resource", resourceClaimName: name }] };
      if (hasClaim) await this.makeClaim(namespace, { name, at, nodes });
      const pod = {
        metadata: { name, labels },
        spec: { ...spec, ...placed, ...(hasClaim ? claims : {}) },
      };
      await this.send("POST", `/api/v1/namespaces/${namespace}/pods`, pod);
    });
  }

  /** Creates a ResourceSlice with devices for each node. */
  async makeDevices(nodes: number, devices: number): Promise<void> {
    await this.send("POST", `${deviceApi}/deviceclasses`, deviceClass);
    await each(nodes, (at) =>
      this.send("POST", `${deviceApi}/resourceslices`, sliceOf(nodeName(at), devices)),
    );
  }

  /** Deletes all ResourceClaims of the namespace, although schedulers have protected them. */
  async deleteClaims(namespace: string): Promise<void> {
    const claims = `${deviceApi}/namespaces/${namespace}/resourceclaims`;
    const { items } = await this.send("GET", claims);
    await each(items.length, async (at) => {
      const claim = items[at];
      const metadata = { ...claim.metadata, finalizers: [] };
      await this.send("PUT", `${claims}/${claim.metadata.name}`, { ...claim, metadata });
    });
    await this.send("DELETE", claims);
  }

  /** Creates a claim; with `nodes`, it has a device of the node of the pod with this number. */
  private async makeClaim(
    namespace: string,
    claim: { readonly name: string; readonly at: number; readonly nodes: number | undefined },
  ): Promise<void> {
    const { name, at, nodes } = claim;
    const claims = `${deviceApi}/namespaces/${namespace}/resourceclaims`;
    const made = await this.send("POST", claims, claimNamed(name));
    if (nodes === undefined) return;
    const status = allocationOn(nodeName(at % nodes), Math.floor(at / nodes));
    await this.send("PUT", `${claims}/${name}/status`, { ...made, status });
  }

  /** Deletes all pods of the namespace; resolves when they are gone. */
  async deletePods(namespace: string): Promise<void> {
    const pods = `/api/v1/namespaces/${namespace}/pods`;
    await this.send("DELETE", `${pods}?gracePeriodSeconds=0`);
    for (;;) {
      const { items } = await this.send("GET", `${pods}?limit=1`);
      if (items.length === 0) return;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  /** Watches for bound pods of a namespace that has none when this is called. */
  async watchBound(namespace: string): Promise<BoundPods> {
    const query = "watch=true&fieldSelector=spec.nodeName!%3D";
    const at = `/api/v1/namespaces/${namespace}/pods?${query}`;
    const stream = this.connection.open("GET", at, undefined, { accept: metadataOnly });
    await new Promise((resolve, reject) => {
      stream.once("response", resolve);
      stream.once("error", reject);
    });
    return new BoundPods(stream);
  }

  /** Number of bound pods of the namespace, of the total. */
  async bound(namespace: string): Promise<string> {
    const { items } = await this.send("GET", `/api/v1/namespaces/${namespace}/pods`);
    const count = items.filter(({ spec }: any) => spec.nodeName).length;
    return `${count} of ${items.length}`;
  }

  async close(): Promise<void> {
    this.connection.close();
    await stop(this.server.child);
    await this.etcd?.[Symbol.asyncDispose]();
    rmSync(this.folder, { recursive: true, force: true });
  }

  async send(method: string, at: string, object?: object): Promise<any> {
    return JSON.parse(await this.text(at, method, object));
  }

  /** Sends a request and returns the body of the response. */
  async text(at: string, method = "GET", object?: object): Promise<string> {
    const body = object === undefined ? {} : { body: Buffer.from(JSON.stringify(object)) };
    const answer = await this.connection.call(method, at, { keep: true, ...body });
    const text = answer.body.toString();
    if (answer.status >= 400) throw new Error(`${method} ${at}: ${answer.status} ${text}`);
    return text;
  }
}

type Stream = ReturnType<Connection["open"]>;

/** Names of bound pods, from a watch. */
export class BoundPods {
  private readonly names = new Set<string>();
  private readonly waiting = new Set<() => void>();

  constructor(private readonly stream: Stream) {
    stream.on("error", () => undefined);
    void this.read();
  }

  /** Resolves when the condition holds; rejects after `seconds`. */
  until(isDone: (names: ReadonlySet<string>) => boolean, seconds: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const check = () => {
        if (!isDone(this.names)) return;
        clearTimeout(timer);
        this.waiting.delete(check);
        resolve();
      };
      const timer = setTimeout(() => {
        this.waiting.delete(check);
        reject(new Error(`only ${this.names.size} pods were bound after ${seconds} s`));
      }, seconds * 1_000);
      this.waiting.add(check);
      check();
    });
  }

  close(): void {
    this.stream.close();
  }

  private async read(): Promise<void> {
    try {
      for await (const line of jsonLines(this.stream)) {
        const { type, object } = JSON.parse(line);
        if (type !== "ADDED") continue;
        this.names.add(object.metadata.name);
        for (const check of this.waiting) check();
      }
    } catch {
      // The stream is closed at the end of a run; an early end shows as a timeout.
    }
  }
}

function nodeName(at: number): string {
  return `node-${at}`;
}

/** Runs `work` for every index, several at a time. */
async function each(count: number, work: (at: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
}
