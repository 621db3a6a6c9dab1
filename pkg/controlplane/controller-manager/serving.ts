/** What the controller manager itself serves: its health, and figures to those who may see them. */
import { createServer, type Server } from "node:https";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { hostname } from "node:os";
import type { TLSSocket } from "node:tls";
import type { Clock } from "#base";
import type { ApiObject, Client, Handle } from "#client";
import { resolve } from "#meta";
import type { KeyPair } from "#pki";

export interface ServingOptions {
  readonly host: string;
  readonly port: number;
  /** Absent = one is made that nobody can verify. */
  readonly certificate?: KeyPair;
  /** Authorities of client certificates (PEM); "" = none are taken. */
  readonly clientCa: string;
  /** Asked who a token belongs to, and who may see the figures. */
  readonly client: Client;
  readonly clock: Clock;
  readonly metrics: () => Promise<string>;
}

interface Who {
  readonly user: string;
  readonly groups: readonly string[];
}

interface TokenReview extends ApiObject {
  readonly spec: { readonly token: string };
  readonly status?: {
    readonly authenticated?: boolean;
    readonly user?: { readonly username?: string; readonly groups?: readonly string[] };
  };
}

interface AccessReview extends ApiObject {
  readonly spec: Who & {
    readonly nonResourceAttributes: { readonly path: string; readonly verb: string };
  };
  readonly status?: { readonly allowed?: boolean };
}

const healthPaths: ReadonlySet<string> = new Set(["/healthz", "/livez", "/readyz"]);
/** What was decided about a client is remembered for so long. */
const freshMs = 10_000;
const mostDecisions = 100;
const certificateDays = 365;

/** Listens; resolves with where, and what ends it. */
export async function serveHealthAndMetrics(
  options: ServingOptions,
): Promise<{ readonly port: number; readonly close: () => void }> {
  const { certificate, privateKey } = options.certificate ?? (await ownCertificate(options));
  const { clientCa } = options;
  const clients = { ca: clientCa, requestCert: true, rejectUnauthorized: false };
  const tls = { cert: certificate, key: privateKey, ...(clientCa === "" ? {} : clients) };
  const guard = new MetricsAuthorizer(options);
  const server = createServer(tls, (request, response) => {
    answer(options, guard, { request, response }).catch((error: unknown) => {
      send(response, 500, `${String(error)}\n`);
    });
  });
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

async function ownCertificate({ clock }: ServingOptions): Promise<KeyPair> {
  const { createAuthority, issueCertificate } = await import("#pki");
  const validity = { validDays: certificateDays, now: clock.now() };
  const authority = await createAuthority("keelson-controller-manager-ca", validity);
  const hosts = [hostname(), "localhost", "127.0.0.1"];
  const leaf = { commonName: "keelson-controller-manager", hosts, usage: "server" } as const;
  return issueCertificate(authority, { ...leaf, ...validity });
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

async function answer(
  { metrics }: ServingOptions,
  guard: MetricsAuthorizer,
  { request, response }: Exchange,
): Promise<void> {
  const path = (request.url ?? "").split("?")[0] ?? "";
  if (request.method !== "GET") return send(response, 405, "method not allowed\n");
  if (healthPaths.has(path)) return send(response, 200, "ok");
  if (path !== "/metrics") return send(response, 404, "not found\n");
  const code = await guard.codeFor(request, path);
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

interface Decision {
  readonly code: number;
  readonly until: number;
}

/** Asks the API who a client is and whether it may read a path. */
class MetricsAuthorizer {
  private readonly decisions = new Map<string, Decision>();

  constructor(private readonly options: ServingOptions) {}

  /** 200, 401 or 403. */
  async codeFor(request: IncomingMessage, path: string): Promise<number> {
    const [, token] = /^Bearer (\S+)$/i.exec(request.headers.authorization ?? "") ?? [];
    const certified = ofCertificate(request.socket as TLSSocket);
    const { clock } = this.options;
    const key = JSON.stringify([path, certified, token]);
    const known = this.decisions.get(key);
    if (known !== undefined && known.until > clock.monotonic()) return known.code;
    const code = await this.decide(certified ?? (token && (await this.ofToken(token))), path);
    if (this.decisions.size >= mostDecisions) this.decisions.clear();
    this.decisions.set(key, { code, until: clock.monotonic() + freshMs });
    return code;
  }

  private async decide(who: Who | "" | undefined, path: string): Promise<number> {
    if (!who) return 401;
    const { client } = this.options;
    const reviews = this.reviews<AccessReview>("authorization", "SubjectAccessReview");
    const spec = { ...who, nonResourceAttributes: { path, verb: "get" } };
    const review = await client.create(reviews, { metadata: {}, spec });
    return review.status?.allowed === true ? 200 : 403;
  }

  private async ofToken(token: string): Promise<Who | undefined> {
    const reviews = this.reviews<TokenReview>("authentication", "TokenReview");
    const review = await this.options.client.create(reviews, { metadata: {}, spec: { token } });
    const { authenticated, user } = review.status ?? {};
    if (authenticated !== true || user?.username === undefined) return undefined;
    return { user: user.username, groups: user.groups ?? [] };
  }

  private reviews<T extends ApiObject>(group: string, kind: string): Handle<T> {
    const full = resolve(`${group}.{api}`, this.options.client.domain);
    const plural = `${kind.toLowerCase()}s`;
    return { group: full, version: "v1", plural, kind, namespaced: false };
  }
}

function ofCertificate(socket: TLSSocket): Who | undefined {
  if (!socket.authorized) return undefined;
  // Node declares one text where a certificate may have several.
  const { CN, O = [] } = socket.getPeerCertificate().subject as unknown as {
    readonly CN?: string;
    readonly O?: string | readonly string[];
  };
  const groups = [O].flat();
  return CN === undefined ? undefined : { user: CN, groups: [...groups, "system:authenticated"] };
}
