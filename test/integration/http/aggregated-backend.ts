/** A minimal aggregated API server for tests. */
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createSecureServer } from "node:http2";
import { createServer } from "node:https";
import type { AddressInfo, Server, Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import { createAuthority, issueCertificate, type KeyPair } from "#pki";
import type { RunningServer } from "../../../cmd/keelson/index.ts";

/** Request and response of either protocol: those of HTTP/2 have the same methods. */
export type BackendExchange = readonly [request: IncomingMessage, response: ServerResponse];

export interface BackendOptions {
  readonly authority: KeyPair;
  /** DNS names in its serving certificate. */
  readonly hosts: readonly string[];
  readonly http2: boolean;
  readonly port?: number;
}

const validity = { validDays: 1, now: Date.now() };

export function testAuthority(): Promise<KeyPair> {
  return createAuthority("backends", validity);
}

/** Responds to discovery with an empty list, and to other requests by the last segment of the path. */
export class AggregatedBackend {
  readonly handlers = new Map<
    string,
    (request: IncomingMessage, response: ServerResponse) => unknown
  >();
  readonly paths: string[] = [];
  private readonly sockets = new Set<Socket>();

  private constructor(readonly server: Server) {
    server.on("connection", (socket: Socket) => {
      this.sockets.add(socket);
      socket.on("error", () => undefined);
      socket.once("close", () => this.sockets.delete(socket));
    });
    server.on("request", (request, response) => this.respond([request, response]));
    server.on("sessionError", () => undefined);
  }

  static async start({ authority, hosts, http2, port = 0 }: BackendOptions) {
    const leaf = { ...validity, commonName: "backend", hosts, usage: "server" } as const;
    const { certificate: cert, privateKey: key } = await issueCertificate(authority, leaf);
    const tls = { cert, key, requestCert: true, rejectUnauthorized: false };
    const server = http2 ? createSecureServer({ ...tls, allowHTTP1: true }) : createServer(tls);
    const backend = new AggregatedBackend(server as unknown as Server);
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
    return backend;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** Closes the server and all its connections immediately. */
  async stop(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
    await once(this.server, "close");
  }

  private respond(exchange: BackendExchange): void {
    const [request, response] = exchange;
    response.on("error", () => undefined);
    request.on("error", () => undefined);
    const path = (request.url ?? "").split("?")[0]!;
    this.paths.push(request.url ?? "");
    const handler = this.handlers.get(path.split("/").at(-1)!);
    if (handler !== undefined) return void handler(...exchange);
    const groupVersion = path.split("/").slice(2, 4).join("/");
    sendJson(exchange, { kind: "APIResourceList", apiVersion: "v1", groupVersion, resources: [] });
  }
}

export function sendJson([, response]: BackendExchange, value: object): void {
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify(value));
}

/** Aborts a response: destroys the socket of HTTP/1.1, the stream of HTTP/2. */
export function cut(response: ServerResponse): void {
  const { stream } = response as { readonly stream?: Duplex };
  if (stream === undefined) response.destroy();
  else stream.destroy(new Error("cut"));
}

/** A request as the backend received it. */
export async function seenBy([request]: BackendExchange): Promise<Record<string, unknown>> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of request) chunks.push(chunk as Uint8Array);
  const socket = request.socket as TLSSocket;
  return {
    method: request.method,
    url: request.url,
    version: request.httpVersion,
    headers: request.headers,
    body: Buffer.concat(chunks).toString("utf8"),
    client: socket.getPeerCertificate().subject?.CN,
  };
}

export const apiServices = "/apis/apiregistration.k8s.io/v1/apiservices";

/** Sends JSON to a server as administrator. */
export async function send(
  server: RunningServer,
  method: string,
  path: string,
  body?: object,
): Promise<Response> {
  const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
  const sent = body === undefined ? {} : { body: JSON.stringify(body) };
  return server.fetch(path, { method, headers: { "content-type": type }, ...sent });
}

/** The response to a GET, once the APIService is available. */
export async function getWhenAvailable(server: RunningServer, path: string) {
  for (;;) {
    const response = await send(server, "GET", path);
    const answer = { status: response.status, text: await response.text() };
    if (answer.text !== "service unavailable\n") return answer;
  }
}

interface Registration {
  readonly group: string;
  readonly port: number;
  /** PEM; absent to skip the verification of the certificate. */
  readonly authority?: string;
}

/** Registers `<group>/v1` at localhost, through the Service `default/far`. */
export async function register(
  server: RunningServer,
  { group, port, authority }: Registration,
): Promise<void> {
  const metadata = { name: "far", namespace: "default" };
  const spec = { type: "ExternalName", externalName: "localhost" };
  await send(server, "POST", "/api/v1/namespaces/default/services", {
    apiVersion: "v1",
    kind: "Service",
    metadata,
    spec,
  });
  const trust =
    authority === undefined
      ? { insecureSkipTLSVerify: true }
      : { caBundle: Buffer.from(authority).toString("base64") };
  await send(server, "POST", apiServices, {
    apiVersion: "apiregistration.k8s.io/v1",
    kind: "APIService",
    metadata: { name: `v1.${group}` },
    spec: {
      group,
      version: "v1",
      groupPriorityMinimum: 10,
      versionPriority: 10,
      service: { ...metadata, port },
      ...trust,
    },
  });
}

/** Waits until the condition Available has the reason. */
export async function untilReason(
  server: RunningServer,
  group: string,
  reason: string,
): Promise<{ readonly status: string; readonly message: string }> {
  for (;;) {
    const response = await send(server, "GET", `${apiServices}/v1.${group}`);
    const { status } = (await response.json()) as any;
    const found = status?.conditions?.find(({ type }: any) => type === "Available");
    if (found?.reason === reason) return found;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
