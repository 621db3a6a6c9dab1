/** Servers behind APIServices for tests, in this process and over HTTP. */
import { setMaxListeners } from "node:events";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { domainOf } from "#meta";
import { noInstruments } from "#request";
import { TestClock } from "../registry/testing.ts";
import { ApiServices } from "./api-services.ts";
import type { ApiService, BackendResponse, BackendTransport } from "./contract.ts";
import { Downloader } from "./download/download.ts";

type Respond = (response: ServerResponse, request: IncomingMessage) => void;

/** Responds with JSON, and an entity tag if one is given. */
export function json(value: unknown, headers: Record<string, string> = {}): Respond {
  return (response) => {
    response.writeHead(200, { "content-type": "application/json", ...headers });
    response.end(typeof value === "string" ? value : JSON.stringify(value));
  };
}

/** Responds with a status code and no body. */
export function status(code: number): Respond {
  return (response) => void response.writeHead(code).end();
}

/** Never responds. */
export const silence: Respond = () => undefined;

/** A server that responds by path, 404 by default. */
export class TestBackend {
  readonly responses = new Map<string, Respond>();
  /** Path and entity tag of each request received. */
  readonly requests: string[] = [];
  readonly users: string[] = [];

  private readonly server = createServer((incoming, response) => {
    const { url = "", headers } = incoming;
    this.requests.push(`${url} ${headers["if-none-match"] ?? ""}`.trim());
    this.users.push(String(headers["x-remote-user"]));
    (this.responses.get(url) ?? status(404))(response, incoming);
  });

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.server.listen(0, "127.0.0.1", resolve));
  }

  close(): void {
    this.server.closeAllConnections();
    this.server.close();
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }
}

/** Sends requests to the port of 127.0.0.1 that the Service is named after, without TLS. */
export const plainTransport: BackendTransport = {
  send: ({ spec: { service } }, { method, path, headers, user, signal, timeoutMs }) =>
    new Promise<BackendResponse>((resolve, reject) => {
      const within =
        timeoutMs === undefined
          ? signal
          : AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
      const outgoing = request(
        {
          port: service?.port,
          host: "127.0.0.1",
          method,
          path,
          headers: { ...(headers as Record<string, string>), "x-remote-user": user.name },
          signal: within,
          agent: false,
        },
        (body) => {
          const received = body.headers as Record<string, string>;
          resolve({
            authority: `127.0.0.1:${service?.port}`,
            status: body.statusCode ?? 0,
            headers: received,
            body,
          });
        },
      );
      outgoing.on("error", reject);
      outgoing.end();
    }),
};

/** An available APIService of `GROUP/VERSION` for the server that listens on the port. */
export function apiServiceOn(
  groupVersion: string,
  port: number,
  {
    available = true,
    ...spec
  }: { readonly available?: boolean } & Partial<ApiService["spec"]> = {},
): ApiService {
  const [group = "", version = ""] = groupVersion.split("/");
  return {
    metadata: { name: `${version}.${group}`, uid: `uid of ${groupVersion}`, resourceVersion: "1" },
    spec: {
      group,
      version,
      service: { namespace: "default", name: "backend", port },
      groupPriorityMinimum: 100,
      versionPriority: 100,
      ...spec,
    },
    status: { conditions: [{ type: "Available", status: available ? "True" : "False" }] },
  };
}

/** ApiServices with the dependencies of discovery and OpenAPI aggregation. */
export function aggregation() {
  const life = new AbortController();
  setMaxListeners(0, life.signal);
  const domain = domainOf();
  const apiServices = new ApiServices(domain);
  const clock = new TestClock();
  const reports: string[] = [];
  const signal: AbortSignal = life.signal;
  return {
    apiServices,
    clock,
    domain,
    instruments: noInstruments,
    signal,
    reports,
    report: (what: string, error: unknown) => void reports.push(`${what}: ${String(error)}`),
    transport: plainTransport,
    downloader: new Downloader(plainTransport, signal),
    store: (apiService: ApiService) => apiServices.followed.index.set(apiService),
    remove: ({ metadata }: ApiService) => apiServices.followed.index.delete(`/${metadata.name}`),
    stop: () => life.abort(),
  };
}

/** Polls until the condition holds; throws after 1000 attempts. */
export async function until(what: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; !(await what()); tries++) {
    if (tries > 6000) throw new Error("the expected state was never reached");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
