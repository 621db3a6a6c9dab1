import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer as createTlsServer, type Server as TlsServer } from "node:https";
import { type AddressInfo, createServer, type Server } from "node:net";
import type { Duplex } from "node:stream";
import { bufferWhileParserPaused, type Clock, trustAuthorities, printJson } from "#base";
import { type Client, DelegatedAccess } from "#client";
import { type Container, containersOf, type Pod, statusesOf } from "#kinds";
import { Quantity } from "#meta";
import type { ContainerCommands, Start } from "../environment/container-commands.ts";
import { containerLog, newLines } from "./container-logs.ts";
import { configuredLog, followLog } from "./follow-log.ts";
import {
  cadvisorMetrics,
  kubeletMetrics,
  type Measurement,
  resourceMetrics,
  statsSummary,
} from "./node-metrics.ts";
import { attributesOf } from "./access-attributes.ts";
import { type ContainerFiles, FileSystems, imageFiles } from "../shell/container-files.ts";
import { logFolderResponse } from "./log-folder.ts";
import { kubeletConfiguration, runningPod } from "./kubelet-documents.ts";
import { runPortForward } from "./port-forward.ts";
import { runRemoteCommand } from "./remote-command.ts";
import { rejectUpgrade, type Upgrade } from "./streams/web-socket.ts";

export interface KubeletServing {
  /** Serving certificate of all nodes (PEM). */
  readonly certificate: string;
  readonly privateKey: string;
  /** CA certificates that verify client certificates (PEM). */
  readonly clientCa: string;
  /** For TokenReviews and SubjectAccessReviews. */
  readonly client: Client;
}

export interface KubeletServerOptions extends KubeletServing {
  readonly clock: Clock;
  /** Bind address of all nodes' ports. */
  readonly host: string;
  readonly podsOf: (node: string) => readonly Pod[];
  readonly commands: ContainerCommands;
  /** The last start of a container; undefined = never started. */
  readonly startOf: (pod: Pod, container: Container) => Start | undefined;
  /** Capacity of each node. */
  readonly capacity: Readonly<Record<string, string>>;
  /** Address ranges to which port forwarding may connect. */
  readonly portForwardTargets: readonly string[];
  readonly report: (what: string, error: unknown) => void;
}

/** TTL of cached authorization decisions: that of denials in the kubelet's webhook authorizer. */
const authorizationTtlMs = 30_000;
/** Maximum number of concurrent connections to one node. */
const maxConnections = 256;

interface Call {
  readonly request: IncomingMessage;
  readonly node: string;
  readonly path: readonly string[];
  readonly query: URLSearchParams;
}

interface ExecTarget {
  readonly node: string;
  readonly pod: Pod;
  readonly container: string;
}

/** HTTPS server of all kubelets of the process, with one port per node. */
export class KubeletServer {
  private readonly tls: TlsServer;
  private readonly access: DelegatedAccess;
  private readonly listeners = new Set<Server>();
  private readonly sockets = new Set<Duplex>();
  private readonly nodes = new Map<number, string>();
  private readonly files: FileSystems;
  private readonly startedAt: number;

  constructor(private readonly options: KubeletServerOptions) {
    const { certificate, privateKey, clientCa, client, clock } = options;
    this.access = new DelegatedAccess({ client, clock, cacheTtlMs: authorizationTtlMs });
    this.files = new FileSystems(() => clock.now());
    this.startedAt = clock.now();
    const clients = {
      ca: trustAuthorities(clientCa),
      requestCert: true,
      rejectUnauthorized: false,
    };
    this.tls = createTlsServer({ cert: certificate, key: privateKey, ...clients });
    bufferWhileParserPaused(this.tls);
    this.tls.on("request", (request, response) => {
      this.answer(request, response).catch((error: unknown) => {
        options.report("Failed to answer a request to a kubelet", error);
        send(response, 500, "internal error\n");
      });
    });
    this.tls.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      this.upgrade(request, socket, head).catch((error: unknown) => {
        options.report("Failed to answer a request to a kubelet", error);
        socket.destroy();
      });
    });
  }

  /** Listens on a free port for a node. Returns the port. */
  listen(node: string): Promise<number> {
    const listener = createServer((socket) => {
      this.sockets.add(socket);
      socket.once("close", () => this.sockets.delete(socket));
      this.tls.emit("connection", socket);
    });
    listener.maxConnections = maxConnections;
    this.listeners.add(listener);
    return new Promise((resolve, reject) => {
      listener.once("error", reject);
      listener.listen({ host: this.options.host, port: 0 }, () => {
        const { port } = listener.address() as AddressInfo;
        this.nodes.set(port, node);
        resolve(port);
      });
    });
  }

  close(): void {
    for (const listener of this.listeners) listener.close();
    for (const socket of this.sockets) socket.destroy();
  }

  private callOf(request: IncomingMessage): Call {
    const node = this.nodes.get(request.socket.localPort ?? 0) ?? "";
    // Names in Kubernetes need no percent-encoding: an encoded path matches nothing.
    const [path = "", ...query] = (request.url ?? "").split("?");
    const parts = path.split("/").slice(1);
    return { request, node, path: parts, query: new URLSearchParams(query.join("?")) };
  }

  /** Authenticates and authorizes a request: 200, 401 or 403. */
  private async authorizeRequest({ request, node }: Call): Promise<number> {
    const identity = await this.access.identityOf(request);
    if (identity === undefined) return 401;
    for (const attributes of attributesOf(request, node)) {
      if (await this.access.isAllowed(identity, attributes)) return 200;
    }
    return 403;
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const call = this.callOf(request);
    const code = await this.authorizeRequest(call);
    if (code !== 200) return send(response, code, code === 401 ? "Unauthorized" : "Forbidden");
    if (request.method !== "GET" && request.method !== "HEAD") {
      return send(response, 405, "Method Not Allowed\n");
    }
    if (call.path[0] === "containerLogs") return this.sendLog(call, response);
    if (call.path[0] === "logs") return this.sendLogFolder(call, response);
    const document = this.documentOf(call);
    if (document === undefined) return send(response, 404, "404 page not found\n");
    return send(response, 200, document.text, document.type);
  }

  /** Kubelet documents that do not depend on the query. */
  private documentOf({ node, path }: Call): { text: string; type?: string } | undefined {
    const pods = this.options.podsOf(node);
    switch (path.join("/").replace(/\/$/, "")) {
      case "healthz":
      case "healthz/ping":
      case "healthz/log":
      case "healthz/syncloop":
        return { text: "ok" };
      case "pods":
        return { text: printList(pods), type: json };
      case "runningpods":
        return { text: printList(pods.flatMap(runningPod)), type: json };
      case "configz":
        return { text: printJson(kubeletConfiguration(this.options)), type: json };
      case "stats/summary":
        return { text: printJson(statsSummary(this.measurement(node, pods))), type: json };
      case "metrics":
        return { text: kubeletMetrics(node, pods), type: prometheus };
      case "metrics/probes":
        // Probes are not counted.
        return { text: "", type: prometheus };
      case "metrics/resource":
        return { text: resourceMetrics(this.measurement(node, pods)), type: prometheus };
      case "metrics/cadvisor":
        return { text: cadvisorMetrics(this.measurement(node, pods)), type: prometheus };
      default:
        return undefined;
    }
  }

  private measurement(node: string, pods: readonly Pod[]): Measurement {
    const { client, clock, capacity } = this.options;
    const bytes = (name: string) => Quantity.parse(capacity[name] ?? "0").toNumber();
    const sizes = { memory: bytes("memory"), disk: bytes("ephemeral-storage") };
    const times = { now: clock.now(), startedAt: this.startedAt };
    return { node, pods, domain: client.domain, ...times, ...sizes };
  }

  private sendLogFolder({ node, path }: Call, response: ServerResponse): void {
    const query = new URLSearchParams("timestamps=true");
    const readLog = (pod: Pod, container: string) => {
      const output = this.outputOf(pod, container, false);
      const log = containerLog(pod, container, { query, now: this.options.clock.now(), output });
      return "refusal" in log ? "" : log.text.toString();
    };
    const below = path.slice(1);
    const found =
      below.length === 0 ? undefined : logFolderResponse(this.options.podsOf(node), below, readLog);
    if (found === undefined) return send(response, 404, "404 page not found\n");
    switch (found.kind) {
      case "page":
        return send(response, 200, found.html, "text/html; charset=utf-8");
      case "file":
        return send(response, 200, found.text);
      case "redirect":
        response.writeHead(301, { location: found.location }).end();
    }
  }

  private podOf({ node, path }: Call): Pod | undefined {
    const [, namespace, name] = path;
    const own = this.options.podsOf(node);
    return own.find(({ metadata }) => metadata.name === name && metadata.namespace === namespace);
  }

  private async sendLog(call: Call, response: ServerResponse): Promise<void> {
    const { path, query } = call;
    const pod = this.podOf(call);
    if (pod === undefined) return send(response, 404, `pod "${path[2]}" does not exist\n`);
    const { client, clock } = this.options;
    const configured = await configuredLog(pod, client);
    const container = path[3] ?? "";
    const request = () => {
      const output = this.outputOf(this.podOf(call), container, query.get("previous") === "true");
      return { query, now: clock.now(), configured, output };
    };
    const log = containerLog(pod, container, request());
    if ("refusal" in log) return send(response, 400, log.refusal);
    const follows = query.get("follow") === "true" && log.isRunning;
    if (!follows) return send(response, 200, log.text);
    await followLog(response, log, {
      clock,
      query,
      next: (last) => {
        const seen = this.podOf(call);
        return seen && newLines(seen, container, { last, request: request() });
      },
    });
  }

  /** Output of a container's command; undefined = unknown. */
  private outputOf(pod: Pod | undefined, container: string, isPrevious: boolean) {
    const start = pod && this.startOf(pod, container);
    if (start === undefined) return undefined;
    const { run } = start;
    if (!isPrevious) return this.options.commands.outputOf(start);
    if (run.last === undefined) return undefined;
    const { startedAt, scratch } = run.last;
    const before = { startedAt, scratch, restarts: run.restarts - 1, declared: run.declared };
    return this.options.commands.outputOf({ ...start, run: before });
  }

  private startOf(pod: Pod, name: string): Start | undefined {
    const container = containersOf(pod).find((each) => each.name === name);
    return container && this.options.startOf(pod, container);
  }

  private async upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    socket.on("error", () => socket.destroy());
    const call = this.callOf(request);
    const code = await this.authorizeRequest(call);
    if (code !== 200)
      return rejectUpgrade(socket, code, code === 401 ? "Unauthorized" : "Forbidden");
    const [first = ""] = call.path;
    if (first !== "exec" && first !== "attach" && first !== "portForward") {
      return rejectUpgrade(socket, 404, "404 page not found\n");
    }
    const pod = this.podOf(call);
    if (pod === undefined) return rejectUpgrade(socket, 404, "pod does not exist\n");
    const upgrade = { request, socket, head };
    if (first !== "portForward") return this.runCommand(upgrade, pod, call);
    if (pod.status?.phase !== "Running") return rejectUpgrade(socket, 500, "pod is not running\n");
    const targets = this.options.portForwardTargets;
    const { api } = this.options.client.domain;
    runPortForward(upgrade, { pod, query: call.query, targets, api });
  }

  private async runCommand(upgrade: Upgrade, pod: Pod, { node, path, query }: Call): Promise<void> {
    const [first, , , container = ""] = path;
    const { clock, commands } = this.options;
    const start = this.startOf(pod, container);
    const output = this.outputOf(pod, container, false);
    const log = containerLog(pod, container, {
      query: new URLSearchParams(),
      now: clock.now(),
      output,
    });
    if ("refusal" in log || !log.isRunning) {
      return rejectUpgrade(upgrade.socket, 500, "container not running\n");
    }
    const preamble = first === "attach" ? log.text.toString() : "";
    const files = await this.filesOf(start, { node, pod, container });
    const environment = start === undefined ? new Map() : commands.environmentOf(start);
    const { api } = this.options.client.domain;
    runRemoteCommand(upgrade, { pod, container, query, files, environment, clock, preamble, api });
  }

  /** Files of a running container, which are lost on a restart. */
  private async filesOf(
    start: Start | undefined,
    { node, pod, container }: ExecTarget,
  ): Promise<ContainerFiles> {
    if (start !== undefined) return this.options.commands.filesWithTokens(start);
    const id = `${node}/${containerIdOf(pod, container)}`;
    const isAlive = (each: string): boolean => {
      const [on = "", ...rest] = each.split("/");
      const wanted = rest.join("/");
      return this.options
        .podsOf(on)
        .some((other) => statusesOf(other).some(({ containerID }) => containerID === wanted));
    };
    return this.files.of(id, imageFiles, isAlive);
  }
}

function containerIdOf(pod: Pod, container: string): string {
  return statusesOf(pod).find(({ name }) => name === container)?.containerID ?? "";
}

const json = "application/json";
const prometheus = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores";

function printList(items: readonly Pod[]): string {
  return printJson({ kind: "PodList", apiVersion: "v1", metadata: {}, items });
}

function send(
  response: ServerResponse,
  code: number,
  text: string | Buffer,
  type = "text/plain; charset=utf-8",
): void {
  if (response.headersSent) return void response.destroy();
  response.writeHead(code, { "content-type": type });
  response.end(text);
}
