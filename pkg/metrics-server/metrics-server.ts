import { X509Certificate } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import type { DetailedPeerCertificate, TLSSocket } from "node:tls";
import { bufferWhileParserPaused, type Clock, cryptoRandom, realClock } from "#base";
import { type AccessAttributes, type Client, Informers } from "#client";
import { isConflict, StatusError } from "#meta";
import { createAuthority, issueCertificate, type KeyPair } from "#pki";
import type { Credentials, PeerCertificate, User } from "#request";
import { DelegatedTrust } from "./delegated-trust.ts";
import { groupOf, version } from "./documents.ts";
import { failure, MetricsApi, type MetricsResponse, statusOf } from "./metrics-api.ts";
import { registerMetricsServer } from "./registration.ts";

export interface MetricsServerOptions {
  readonly client: Client;
  readonly clock: Clock;
  /** Aborts to stop the server. */
  readonly signal: AbortSignal;
  readonly report: (what: string, error: unknown) => void;
}

const namespace = "kube-system";
const name = "metrics-server";
/** Validity of the serving certificate, which is issued at each start. */
const validDays = 365;
const maxChainLength = 10;
const retryMs = 1_000;
const healthPaths = new Set(["/healthz", "/livez", "/readyz"]);

/**
 * Runs an aggregated API server of `metrics.k8s.io/v1beta1` with simulated usage of nodes and pods, until the
 * signal aborts. Registers its Service and APIService, and accepts requests authenticated by the API server.
 */
export async function runMetricsServer(options: MetricsServerOptions): Promise<void> {
  const { client, clock, signal, report } = options;
  const informers = new Informers({ ...options, random: cryptoRandom });
  const authority = await createAuthority("metrics-server-ca", {
    validDays,
    now: realClock(clock).now(),
  });
  const serving = await issueCertificate(authority, {
    commonName: `${name}.${namespace}.svc`,
    hosts: [`${name}.${namespace}.svc`],
    usage: "server",
    validDays,
    now: realClock(clock).now(),
  });
  const trust = new DelegatedTrust({ client, informers, clock });
  const api = new MetricsApi({ informers, clock, domain: client.domain });
  const server = new MetricsServer({ ...options, api, trust, serving });
  const port = await server.listen();
  const caBundle = Buffer.from(authority.certificate).toString("base64");
  while (!signal.aborted) {
    try {
      await registerMetricsServer(client, { namespace, name, port, caBundle });
      break;
    } catch (error) {
      if (!signal.aborted && !isConflict(error)) report("Failed to register metrics-server", error);
      await realClock(clock)
        .sleep(retryMs, signal, { background: true })
        .catch(() => undefined);
    }
  }
  await informers.ended();
  await server.closed;
}

interface Parts extends MetricsServerOptions {
  readonly api: MetricsApi;
  readonly trust: DelegatedTrust;
  readonly serving: KeyPair;
}

class MetricsServer {
  readonly closed: Promise<void>;
  private readonly server: Server;

  constructor(private readonly parts: Parts) {
    const { trust, serving, signal } = parts;
    const own = { cert: serving.certificate, key: serving.privateKey };
    // Without explicit CAs Node.js would trust those of the system.
    const server = createServer(
      { ...own, ca: serving.certificate, requestCert: true, rejectUnauthorized: false },
      (request, response) => void this.answer(request, response),
    );
    bufferWhileParserPaused(server);
    this.server = server;
    trust.follow((ca) => server.setSecureContext({ ...own, ca: ca || serving.certificate }));
    this.closed = new Promise((resolve) => server.once("close", resolve));
    const close = () => {
      server.closeAllConnections();
      server.close();
    };
    if (signal.aborted) close();
    else signal.addEventListener("abort", close, { once: true });
  }

  /** Listens on a free port of the loopback interface. Returns the port. */
  async listen(): Promise<number> {
    await new Promise<void>((resolve, reject) => {
      this.server.once("error", reject);
      this.server.listen(0, "localhost", resolve);
    });
    return (this.server.address() as AddressInfo).port;
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let made: MetricsResponse;
    try {
      made = await this.responseTo(request);
    } catch (error) {
      if (!(error instanceof StatusError)) this.parts.report("metrics-server", error);
      const fault =
        error instanceof StatusError
          ? error
          : statusOf(500, "InternalError", "an error on the server has prevented the request");
      made = failure(fault.status);
    }
    const body = Buffer.from(made.body);
    response.writeHead(made.status, {
      "content-type": made.contentType,
      "content-length": body.length,
      "cache-control": "no-cache, private",
    });
    response.end(request.method === "HEAD" ? undefined : body);
  }

  private async responseTo(request: IncomingMessage): Promise<MetricsResponse> {
    const { api, trust } = this.parts;
    const [path = "", search = ""] = (request.url ?? "").split("?", 2);
    if (healthPaths.has(path)) {
      const isHealthy = path !== "/readyz" || api.isReady;
      return { status: isHealthy ? 200 : 503, contentType: "text/plain", body: "ok" };
    }
    const user = trust.authenticate(credentialsOf(request, path));
    if (user === undefined) throw statusOf(401, "Unauthorized", "Unauthorized");
    if (request.method !== "GET" && request.method !== "HEAD") {
      throw statusOf(405, "MethodNotAllowed", "the server does not allow this method");
    }
    await this.authorize(user, path);
    const accept = request.headers.accept ?? "*/*";
    return api.respond({ path, query: new URLSearchParams(search), accept });
  }

  /** @throws StatusError 403 */
  private async authorize(user: User, path: string): Promise<void> {
    const { trust, client } = this.parts;
    const group = groupOf(client.domain);
    const attributes = attributesOf(path, group);
    if (await trust.isAllowed(user, attributes)) return;
    throw statusOf(
      403,
      "Forbidden",
      `forbidden: User ${JSON.stringify(user.name)} cannot get path ${JSON.stringify(path)}`,
    );
  }
}

/** Attributes of a SubjectAccessReview for a GET. */
function attributesOf(path: string, group: string): AccessAttributes {
  const prefix = `/apis/${group}/${version}/`;
  if (!path.startsWith(prefix)) return { nonResourceAttributes: { path, verb: "get" } };
  const parts = path.slice(prefix.length).split("/").map(decodeURIComponent);
  const isNamespaced = parts[0] === "namespaces";
  const [namespaceName = "", resource = "", objectName = ""] = isNamespaced
    ? parts.slice(1)
    : ["", ...parts];
  const verb = objectName === "" ? "list" : "get";
  const place = { namespace: namespaceName, name: objectName };
  return { resourceAttributes: { ...place, verb, group, version, resource } };
}

function credentialsOf(request: IncomingMessage, path: string): Credentials {
  const headers = Object.entries(request.headersDistinct);
  return {
    authorization: [],
    certificate: certificateOf(request.socket as TLSSocket),
    headersBelow: (prefix) =>
      new Map(
        headers.flatMap(([key, values]) =>
          key.startsWith(prefix) && values !== undefined ? [[key, values] as const] : [],
        ),
      ),
    path,
  };
}

function certificateOf(socket: TLSSocket): PeerCertificate | undefined {
  const chain: X509Certificate[] = [];
  let current: DetailedPeerCertificate | undefined = socket.getPeerCertificate(true);
  while (current?.raw !== undefined && chain.length < maxChainLength) {
    chain.push(new X509Certificate(current.raw));
    const issuer: DetailedPeerCertificate | undefined = current.issuerCertificate;
    current = issuer === current ? undefined : issuer;
  }
  return chain.length === 0 ? undefined : { chain };
}
