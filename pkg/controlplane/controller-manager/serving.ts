/** HTTPS server of the controller manager: health for all clients, metrics for authorized users. */
import { createServer, type Server } from "node:https";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { hostname } from "node:os";
import { bufferWhileParserPaused, type Clock, trustAuthorities } from "#base";
import { type Client, DelegatedAccess } from "#client";
import type { KeyPair } from "#pki";
import { ensureAuthority, ensureLeaf } from "../credentials/credentials.ts";

export interface ServingOptions {
  readonly host: string;
  readonly port: number;
  /** Absent = generated, signed by a separate CA. */
  readonly certificate?: KeyPair;
  /** Directory of the generated certificate; absent = kept in memory. */
  readonly certificateDirectory?: string;
  /** CA certificates that verify client certificates (PEM); "" = none are accepted. */
  readonly clientCa: string;
  /** Client for TokenReviews and SubjectAccessReviews. */
  readonly client: Client;
  readonly clock: Clock;
  /** Name in generated certificates; default kube-controller-manager. */
  readonly component?: string;
  readonly metrics: () => Promise<string>;
}

const healthPaths: ReadonlySet<string> = new Set(["/healthz", "/livez", "/readyz"]);
/** Listens; resolves with the port and a function that stops the server. */
export async function serveHealthAndMetrics(
  options: ServingOptions,
): Promise<{ readonly port: number; readonly close: () => void }> {
  const { certificate, privateKey } = options.certificate ?? (await generatedCertificate(options));
  const { clientCa } = options;
  const clients = { ca: trustAuthorities(clientCa), requestCert: true, rejectUnauthorized: false };
  const tls = { cert: certificate, key: privateKey, ...(clientCa === "" ? {} : clients) };
  const access = new DelegatedAccess(options);
  const server = createServer(tls, (request, response) => {
    answer(options, access, { request, response }).catch((error: unknown) => {
      send(response, 500, `${String(error)}\n`);
    });
  });
  bufferWhileParserPaused(server);
  await listen(server, options);
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { port: (server.address() as AddressInfo).port, close };
}

function listen(server: Server, { host, port }: ServingOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port }, () => resolve());
  });
}

async function generatedCertificate(options: ServingOptions): Promise<KeyPair> {
  const { certificateDirectory: directory, component = "kube-controller-manager" } = options;
  const common = { directory, now: options.clock.now() };
  const authority = await ensureAuthority({ ...common, name: `${component}-ca` });
  const hosts = [hostname(), "localhost", "127.0.0.1"];
  const leaf = { commonName: component, hosts, usage: "server" } as const;
  return ensureLeaf({ ...common, name: component }, authority, leaf);
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

async function answer(
  { metrics }: ServingOptions,
  access: DelegatedAccess,
  { request, response }: Exchange,
): Promise<void> {
  const path = (request.url ?? "").split("?")[0] ?? "";
  if (request.method !== "GET") return send(response, 405, "method not allowed\n");
  if (healthPaths.has(path)) return send(response, 200, "ok");
  if (path !== "/metrics") return send(response, 404, "not found\n");
  const code = await access.statusCodeFor(request, {
    nonResourceAttributes: { path, verb: "get" },
  });
  if (code !== 200) return send(response, code, code === 401 ? "Unauthorized\n" : "Forbidden\n");
  response.setHeader("content-type", "text/plain; version=0.0.4; charset=utf-8");
  send(response, 200, await metrics());
}

function send(response: ServerResponse, code: number, text: string): void {
  if (!response.hasHeader("content-type")) {
    response.setHeader("content-type", "text/plain; charset=utf-8");
  }
  response.statusCode = code;
  response.end(text);
}
