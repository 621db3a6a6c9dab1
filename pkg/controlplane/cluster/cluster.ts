import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { systemClock } from "#base";
import { makeCertificates } from "../credentials/certificates.ts";
import { ClusterAddresses, numbered } from "./addresses.ts";
import { LocalProcess } from "./local-process.ts";
import { type ClientFiles, waitUntilServing } from "./serving.ts";

export interface ClusterOptions {
  /** Directory of certificates, data and logs; existing ones are reused. */
  readonly directory: string;
  /** Port of the load balancer; 0 = any free one. */
  readonly port: number;
  /** Additional flags of every API server. */
  readonly apiserverFlags?: readonly string[];
  readonly managerFlags?: readonly string[];
  /** Node options of the controller manager with a name. */
  readonly managerNodeFlags?: (name: string) => readonly string[];
  /** Inserts a proxy between two processes: resolves with the port of the proxy. */
  readonly route?: (link: Link) => Promise<number>;
  /** Cancels the start, and stops what was already started. */
  readonly signal?: AbortSignal;
}

/** A connection from one process to another. */
export interface Link {
  /** Name of the connecting process; undefined = any. */
  readonly from: string | undefined;
  readonly to: string;
  /** Port on which the other process listens. */
  readonly port: number;
}

/** The topology of docker-compose.yml as processes of this host. */
export interface Cluster {
  /** URL of the load balancer. */
  readonly url: string;
  readonly kubeconfig: string;
  readonly directory: string;
  /** Endpoints and TLS files (PEM) of etcd. */
  readonly store: { readonly endpoints: readonly string[]; readonly files: Required<ClientFiles> };
  readonly members: readonly LocalProcess[];
  readonly servers: readonly (LocalProcess & { readonly url: string })[];
  readonly managers: readonly LocalProcess[];
  readonly balancer: LocalProcess;
  /** Absent if Prometheus is not installed. */
  readonly prometheus: (LocalProcess & { readonly url: string }) | undefined;
  /** Stops the processes, clients before servers. */
  close(): Promise<void>;
}

/** A required program is not on PATH; the message is shown to the user unchanged. */
export class MissingProgramError extends Error {
  override readonly name = "MissingProgramError";
}

const graceMs = 15_000;
/**
 * Grace period of etcd members in ms. A leader would try for seconds to transfer leadership to
 * members that exit as well; acknowledged writes are on disk even if it is killed.
 */
const memberGraceMs = 1_000;
const clientPort = 2379;
const peerPort = 2380;
const serverPort = 6443;

/** Starts all processes; resolves when the load balancer serves and a controller manager runs. */
export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const etcd = required("etcd", "etcd-server");
  const haproxy = required("haproxy", "haproxy");
  const addresses = await ClusterAddresses.free(options.port);
  const builder = new Builder(options, addresses);
  // Proxies between processes have ports of their own.
  await builder.prepare().finally(() => addresses.release());
  const members = numbered("etcd", 3).map((name) => builder.etcd(name, etcd));
  const servers = numbered("apiserver", 3).map((name) => builder.apiserver(name));
  const managers = numbered("controller-manager", 2).map((name) => builder.manager(name));
  const balancer = await builder.balancer(haproxy);
  const prometheus = await builder.prometheus(found("prometheus"));
  const layers = [members, servers, [balancer], managers, prometheus ? [prometheus] : []];
  const close = async (): Promise<void> => {
    for (const layer of [...layers].reverse()) {
      const grace = layer === members ? memberGraceMs : graceMs;
      await Promise.all(layer.map((each) => each.retire(grace)));
    }
  };
  try {
    const { signal } = options;
    for (const layer of layers) await Promise.all(layer.map((each) => each.start(signal)));
  } catch (error) {
    await close();
    throw error;
  }
  const { url } = builder;
  const kubeconfig = builder.pki("admin.kubeconfig");
  const { directory } = options;
  const processes = { members, servers, managers, balancer, prometheus };
  return { url, kubeconfig, directory, store: builder.store, ...processes, close };
}

/** Creates the processes with the flags that `docker-compose.yml` gives to their containers. */
class Builder {
  readonly #options: ClusterOptions;
  readonly #addresses: ClusterAddresses;
  /** Addresses as a process sees them, by its name. */
  readonly #seen = new Map<string | undefined, ClusterAddresses>();
  readonly #keelson = program();

  constructor(options: ClusterOptions, addresses: ClusterAddresses) {
    this.#options = options;
    this.#addresses = addresses;
  }

  get url(): string {
    return `https://localhost:${this.#addresses.port("balancer:6443")}`;
  }

  get store(): Cluster["store"] {
    const cert = this.pki("etcd-client.crt");
    const files = { ca: this.pki("etcd-ca.crt"), cert, key: this.pki("etcd-client.key") };
    return { endpoints: this.#endpoints(this.#addresses), files };
  }

  #endpoints(addresses: ClusterAddresses): readonly string[] {
    const ports = numbered("etcd", 3).map((name) => addresses.port(`${name}:${clientPort}`));
    return ports.map((port) => `https://localhost:${port}`);
  }

  pki(file: string): string {
    return path.join(this.#options.directory, "pki", file);
  }

  async prepare(): Promise<void> {
    const { directory } = this.#options;
    await mkdir(path.join(directory, "log"), { recursive: true, mode: 0o700 });
    const hosts: readonly string[] = [];
    const now = systemClock.now();
    await makeCertificates({ directory: this.pki(""), hosts, url: this.url, now });
    const members = numbered("etcd", 3);
    const servers = numbered("apiserver", 3);
    for (const server of servers) await this.#link(server, members, clientPort);
    await this.#link("balancer", servers, serverPort);
    await this.#link(undefined, members, peerPort);
  }

  /**
   * Inserts the proxies of `options.route` between a process and the processes that it connects to.
   */
  async #link(from: string | undefined, others: readonly string[], port: number): Promise<void> {
    const { route } = this.#options;
    if (route === undefined) return;
    const ports = new Map<string, number>();
    for (const to of others) {
      const place = `${to}:${port}`;
      ports.set(place, await route({ from, to, port: this.#addresses.port(place) }));
    }
    this.#seen.set(from, this.#addresses.moved(ports));
  }

  #seenBy(name: string | undefined): ClusterAddresses {
    return this.#seen.get(name) ?? this.#addresses;
  }

  etcd(name: string, executable: string): LocalProcess {
    const client = `https://${this.#addresses.of(`${name}:${clientPort}`)}`;
    const peer = `https://${this.#addresses.of(`${name}:${peerPort}`)}`;
    const toPeer = (each: string) => `https://${this.#seenBy(undefined).of(`${each}:${peerPort}`)}`;
    const peers = numbered("etcd", 3).map((each) => `${each}=${toPeer(each)}`);
    const words = [
      `--name=${name}`,
      `--data-dir=${path.join(this.#options.directory, name)}`,
      `--initial-cluster=${peers.join(",")}`,
      `--initial-advertise-peer-urls=${toPeer(name)}`,
      `--listen-peer-urls=${peer}`,
      `--advertise-client-urls=${client}`,
      `--listen-client-urls=${client}`,
      `--trusted-ca-file=${this.pki("etcd-ca.crt")}`,
      `--cert-file=${this.pki("etcd.crt")}`,
      `--key-file=${this.pki("etcd.key")}`,
      "--client-cert-auth",
      `--peer-trusted-ca-file=${this.pki("etcd-ca.crt")}`,
      `--peer-cert-file=${this.pki("etcd.crt")}`,
      `--peer-key-file=${this.pki("etcd.key")}`,
      "--peer-client-cert-auth",
      "--logger=zap",
      "--log-level=warn",
    ];
    const { files } = this.store;
    return this.#process(name, { executable, words, url: `${client}/health`, files });
  }

  apiserver(name: string): LocalProcess & { readonly url: string } {
    const { directory, apiserverFlags = [] } = this.#options;
    const url = `https://${this.#addresses.of(`${name}:6443`)}`;
    const words = [
      this.#keelson,
      "apiserver",
      `--etcd-servers=${this.#endpoints(this.#seenBy(name)).join(",")}`,
      `--etcd-cafile=${this.pki("etcd-ca.crt")}`,
      `--etcd-certfile=${this.pki("etcd-client.crt")}`,
      `--etcd-keyfile=${this.pki("etcd-client.key")}`,
      "--bind-address=127.0.0.1",
      `--secure-port=${this.#addresses.port(`${name}:6443`)}`,
      `--cert-dir=${path.join(directory, name)}`,
      `--tls-cert-file=${this.pki("apiserver.crt")}`,
      `--tls-private-key-file=${this.pki("apiserver.key")}`,
      `--client-ca-file=${this.pki("ca.crt")}`,
      `--requestheader-client-ca-file=${this.pki("front-proxy-ca.crt")}`,
      "--requestheader-allowed-names=front-proxy-client",
      "--requestheader-username-headers=X-Remote-User",
      "--requestheader-uid-headers=X-Remote-Uid",
      "--requestheader-group-headers=X-Remote-Group",
      "--requestheader-extra-headers-prefix=X-Remote-Extra-",
      `--proxy-client-cert-file=${this.pki("front-proxy-client.crt")}`,
      `--proxy-client-key-file=${this.pki("front-proxy-client.key")}`,
      `--service-account-signing-key-file=${this.pki("sa.key")}`,
      "--enable-bootstrap-token-auth",
      "--authorization-mode=Node,RBAC",
      "--shutdown-delay-duration=3s",
      ...apiserverFlags,
    ];
    const files = { ca: this.pki("ca.crt") };
    const executable = process.execPath;
    const server = this.#process(name, { executable, words, url: `${url}/readyz`, files });
    return Object.assign(server, { url });
  }

  manager(name: string): LocalProcess {
    const port = this.#addresses.port(`${name}:10257`);
    const words = [
      ...(this.#options.managerNodeFlags?.(name) ?? []),
      this.#keelson,
      "controller-manager",
      `--kubeconfig=${this.pki("controller-manager.kubeconfig")}`,
      `--root-ca-file=${this.pki("ca.crt")}`,
      `--cluster-signing-cert-file=${this.pki("ca.crt")}`,
      `--cluster-signing-key-file=${this.pki("ca.key")}`,
      `--service-account-private-key-file=${this.pki("sa.key")}`,
      `--tls-cert-file=${this.pki("apiserver.crt")}`,
      `--tls-private-key-file=${this.pki("apiserver.key")}`,
      "--bind-address=127.0.0.1",
      `--secure-port=${port}`,
      `--client-ca-file=${this.pki("ca.crt")}`,
      "--use-service-account-credentials",
      "--leader-elect",
      ...(this.#options.managerFlags ?? []),
    ];
    const url = `https://127.0.0.1:${port}/healthz`;
    const files = { ca: this.pki("ca.crt") };
    return this.#process(name, { executable: process.execPath, words, url, files });
  }

  async balancer(executable: string): Promise<LocalProcess> {
    const file = await this.#adapted("haproxy.cfg", this.#seenBy("balancer"));
    const url = `${this.url}/readyz`;
    const files = { ca: this.pki("ca.crt") };
    return this.#process("balancer", { executable, words: ["-db", "-f", file], url, files });
  }

  async prometheus(
    executable: string | undefined,
  ): Promise<(LocalProcess & { readonly url: string }) | undefined> {
    if (executable === undefined) return undefined;
    const url = `http://${this.#addresses.of("prometheus:9090")}`;
    const words = [
      `--config.file=${await this.#adapted("prometheus.yml", this.#addresses)}`,
      `--storage.tsdb.path=${path.join(this.#options.directory, "prometheus")}`,
      `--web.listen-address=${this.#addresses.of("prometheus:9090")}`,
      "--log.level=warn",
    ];
    const ready = `${url}/-/ready`;
    const started = this.#process("prometheus", { executable, words, url: ready });
    return Object.assign(started, { url });
  }

  /** Writes a file of `deploy/`, adapted to this host, to the directory, and returns its path. */
  async #adapted(name: string, addresses: ClusterAddresses): Promise<string> {
    const text = readFileSync(path.join(root(), "deploy", name), "utf8");
    const file = path.join(this.#options.directory, name);
    const adapted = addresses.replaced(text).replaceAll("/pki/", `${this.pki("")}/`);
    await writeFile(file, adapted);
    return file;
  }

  #process(
    name: string,
    {
      executable,
      words,
      url,
      files,
    }: {
      readonly executable: string;
      readonly words: readonly string[];
      readonly url: string;
      readonly files?: ClientFiles;
    },
  ): LocalProcess {
    const log = path.join(this.#options.directory, "log", `${name}.log`);
    const ready = (signal: AbortSignal): Promise<void> => waitUntilServing(url, files, signal);
    return new LocalProcess({ name, program: executable, words, log, ready });
  }
}

/** Root directory of the project, whether run from sources or from the bundle. */
function root(): string {
  let folder = path.dirname(fileURLToPath(import.meta.url));
  while (!existsSync(path.join(folder, "deploy", "haproxy.cfg"))) {
    const parent = path.dirname(folder);
    if (parent === folder) {
      throw new MissingProgramError(
        "a cluster of processes requires the npm package: its directory deploy/ was not found",
      );
    }
    folder = parent;
  }
  return folder;
}

function program(): string {
  return path.join(root(), "dist", "keelson.js");
}

function required(name: string, packageName: string): string {
  const executable = found(name);
  if (executable !== undefined) return executable;
  throw new MissingProgramError(
    `${name} was not found on PATH: install it (Debian: apt-get install ${packageName})`,
  );
}

function found(name: string): string | undefined {
  return spawnSync(name, ["--help"], { stdio: "ignore" }).error === undefined ? name : undefined;
}
