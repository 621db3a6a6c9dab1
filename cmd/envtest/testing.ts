/** Emulates for tests how controller-runtime's envtest uses the programs of its directory. */
import assert from "node:assert/strict";
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { get as httpGet } from "node:http";
import { request as httpsRequest, type RequestOptions } from "node:https";
import { type AddressInfo, createServer } from "node:net";
import path from "node:path";
import { createAuthority, issueCertificate, type KeyPair } from "#pki";

export interface Program {
  readonly child: ChildProcess;
  /** Exit code; null after a signal that the program did not handle. */
  readonly ended: Promise<number | null>;
  stderr(): string;
}

export interface Answer {
  readonly code: number;
  readonly body: string;
}

const pollMs = 100;

/** One environment: etcd and kube-apiserver with the flags of release-0.22. */
export class Environment {
  readonly #assets: string;
  readonly #variables: Readonly<Record<string, string>>;
  readonly #folder: string;
  readonly #programs: Program[] = [];
  #ports: readonly number[] = [];
  #admin: KeyPair | undefined;
  #servingCa = "";

  /**
   * `folder` is for data and certificates; `variables` are added to the environment of the
   * programs.
   */
  constructor(assets: string, folder: string, variables: Readonly<Record<string, string>> = {}) {
    this.#assets = assets;
    this.#folder = mkdtempSync(path.join(folder, "environment-"));
    this.#variables = variables;
  }

  get certificates(): string {
    return path.join(this.#folder, "certificates");
  }

  /** Process IDs of the running programs. */
  get processes(): readonly number[] {
    return this.#programs.map(({ child }) => child.pid as number);
  }

  async start(): Promise<void> {
    this.#ports = await freePorts(3);
    await this.#writeCertificates();
    await this.startEtcd();
    await this.startApiserver();
  }

  async startEtcd(): Promise<Program> {
    const [client, peer] = this.#ports;
    assert.doesNotMatch(this.#help("etcd"), /^\s*--insecure-port\b/m);
    const url = `http://127.0.0.1:${client}`;
    const program = this.spawn("etcd", [
      `--advertise-client-urls=${url}`,
      `--data-dir=${path.join(this.#folder, "etcd")}`,
      `--listen-client-urls=${url}`,
      `--listen-peer-urls=http://127.0.0.1:${peer}`,
      "--unsafe-no-fsync=true",
    ]);
    await untilHealthy(program, () => isHealthy(`${url}/health`));
    return program;
  }

  async startApiserver(): Promise<Program> {
    assert.doesNotMatch(this.#help("kube-apiserver"), /^\s*--insecure-port\b/m);
    const program = this.spawn("kube-apiserver", this.apiserverFlags());
    const health = () => this.request("GET", "/healthz", { anonymous: true });
    await untilHealthy(program, async () => (await health()).code === 200);
    return program;
  }

  apiserverFlags(): readonly string[] {
    const [client, , port] = this.#ports;
    const directory = this.certificates;
    return [
      "--allow-privileged=true",
      "--authorization-mode=RBAC",
      "--bind-address=127.0.0.1",
      `--cert-dir=${directory}`,
      `--client-ca-file=${directory}/client-cert-auth-ca.crt`,
      "--disable-admission-plugins=ServiceAccount",
      `--etcd-servers=http://127.0.0.1:${client}`,
      `--secure-port=${port}`,
      `--service-account-issuer=https://127.0.0.1:${port}/`,
      `--service-account-key-file=${directory}/sa-signer.crt`,
      `--service-account-signing-key-file=${directory}/sa-signer.key`,
      "--service-cluster-ip-range=10.0.0.0/24",
    ];
  }

  spawn(name: string, words: readonly string[]): Program {
    const program = spawnProgram(path.join(this.#assets, name), words, this.#variables);
    this.#programs.push(program);
    return program;
  }

  /** Sends a request as administrator, with the client certificate that envtest issues. */
  request(
    method: string,
    url: string,
    { body, anonymous }: { readonly body?: unknown; readonly anonymous?: boolean } = {},
  ): Promise<Answer> {
    const options = { ...this.#connection(anonymous === true), method, path: url };
    return answerOf({ ...options, headers: { "content-type": "application/json" } }, body);
  }

  /** Resolves with the first watch event that matches; the watch stays open. */
  async watch(url: string, pattern: RegExp): Promise<string> {
    const request = httpsRequest({ ...this.#connection(false), method: "GET", path: url });
    request.on("error", () => undefined);
    request.end();
    const [response] = (await once(request, "response")) as [AsyncIterable<Buffer>];
    let text = "";
    return new Promise((resolve, reject) => {
      const read = async () => {
        for await (const chunk of response) {
          text += String(chunk);
          if (pattern.test(text)) resolve(text);
        }
      };
      read().then(
        () => reject(new Error(`the watch ended: ${text}`)),
        (error: unknown) => reject(error as Error),
      );
    });
  }

  /** Sends SIGTERM to the API server, then to etcd; returns their exit codes. */
  async stop(): Promise<readonly (number | null)[]> {
    const codes: (number | null)[] = [];
    for (const program of this.#programs.splice(0).reverse()) codes.push(await stopped(program));
    return codes;
  }

  async stopApiserver(): Promise<void> {
    const program = this.#programs.pop();
    assert.equal(await (program && stopped(program)), 0);
  }

  kill(): void {
    for (const { child } of this.#programs.splice(0)) child.kill("SIGKILL");
  }

  #help(name: string): string {
    const file = path.join(this.#assets, name);
    return execFileSync(file, ["--help"], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
  }

  #connection(anonymous: boolean): RequestOptions {
    const common = { host: "127.0.0.1", port: this.#ports[2], agent: false as const };
    if (anonymous) return { ...common, rejectUnauthorized: false };
    const admin = this.#admin;
    assert.ok(admin !== undefined);
    const { certificate: cert, privateKey: key } = admin;
    return { ...common, ca: this.#servingCa, cert, key };
  }

  /**
   * Writes the files that envtest puts into --cert-dir, which has no keys of certificate
   * authorities.
   */
  async #writeCertificates(): Promise<void> {
    const valid = { validDays: 7, now: Date.now() };
    const serving = await createAuthority("envtest-environment", valid);
    const clients = await createAuthority("envtest-clients", valid);
    const leaf = { ...valid, usage: "server", hosts: ["localhost", "127.0.0.1"] } as const;
    const server = await issueCertificate(serving, { ...leaf, commonName: "localhost" });
    const signer = await issueCertificate(serving, { ...leaf, commonName: "sa-signer" });
    const administrator = { commonName: "envtest-admin", organizations: ["system:masters"] };
    this.#admin = await issueCertificate(clients, { ...valid, ...administrator, usage: "client" });
    this.#servingCa = serving.certificate;
    mkdirSync(this.certificates, { recursive: true });
    const files = {
      "apiserver.crt": server.certificate,
      "apiserver.key": server.privateKey,
      "sa-signer.crt": signer.certificate,
      "sa-signer.key": signer.privateKey,
      "client-cert-auth-ca.crt": clients.certificate,
    };
    for (const [name, text] of Object.entries(files)) {
      writeFileSync(path.join(this.certificates, name), text);
    }
  }
}

export function spawnProgram(
  file: string,
  words: readonly string[],
  variables: Readonly<Record<string, string>> = {},
): Program {
  const env = { ...process.env, ...variables };
  const child = spawn(file, words, { env, stdio: ["ignore", "ignore", "pipe"] });
  let text = "";
  child.stderr.on("data", (chunk) => (text += chunk));
  const ended = new Promise<number | null>((resolve) => child.on("close", resolve));
  return { child, ended, stderr: () => text };
}

export function stopped({ child, ended }: Program): Promise<number | null> {
  child.kill("SIGTERM");
  return ended;
}

export async function isHealthy(url: string): Promise<boolean> {
  const request = httpGet(url, { agent: false });
  try {
    const [response] = await once(request, "response");
    response.resume();
    return response.statusCode === 200;
  } catch {
    return false;
  }
}

/** Polls the health endpoint as envtest does; fails if the program exits before it is healthy. */
export async function untilHealthy(
  program: Program,
  isReady: () => Promise<boolean>,
): Promise<void> {
  for (;;) {
    if (await isReady().catch(() => false)) return;
    assert.equal(program.child.exitCode, null, program.stderr());
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}

async function answerOf(options: RequestOptions, body: unknown): Promise<Answer> {
  const request = httpsRequest(options);
  request.end(body === undefined ? undefined : JSON.stringify(body));
  const [response] = await once(request, "response");
  let text = "";
  for await (const chunk of response) text += String(chunk);
  return { code: response.statusCode, body: text };
}

/** Finds ports that are free now, as envtest does. */
export async function freePorts(count: number): Promise<readonly number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, "127.0.0.1"));
  await Promise.all(servers.map((server) => once(server, "listening")));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => once(server.close(), "close")));
  return ports;
}
