import { timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { parseJsonText, VirtualClock } from "#base";
import { type Fault, type RequestFilter, type TestServer } from "#controlplane";

/** Addresses and credentials of a server and its control interface. */
export interface ServerDescription {
  readonly url: string;
  /** CA certificate of the server (PEM). */
  readonly ca: string;
  readonly kubeconfig: string;
  /** Bearer token of the administrator, for the API. */
  readonly token: string;
  readonly control: string;
  /** Bearer token for `control`. */
  readonly controlToken: string;
}

export interface ControlServerOptions {
  readonly server: TestServer;
  /** Port to listen on; 0 = any free one. */
  readonly port: number;
  readonly token: string;
}

/** Error response to a control request. */
class ControlError extends Error {
  constructor(
    readonly code: number,
    message: string,
  ) {
    super(message);
  }
}

interface Call {
  readonly server: TestServer;
  /** Parsed body of the request; undefined if it is empty. */
  readonly body: unknown;
  /** ID of the fork; undefined for the first server. */
  readonly fork: string | undefined;
}

interface Answer {
  readonly code: number;
  readonly body?: unknown;
}

const maxForks = 256;
const maxBodyBytes = 64 * 1024;
/** Maximum time of one advance of the clock in milliseconds; a year fires millions of timers. */
const maxAdvanceMs = 366 * 86_400_000;
const done: Answer = { code: 204 };

/**
 * The control interface of a test server over HTTP on loopback, with a bearer token: forks, reset,
 * faults, recorded requests and the clock. A fork has the same interface under `/control/forks/ID`.
 */
export class ControlServer {
  private readonly http: Server;
  private readonly forks = new Map<string, TestServer>();
  /** Number of forks started so far; the next ID is derived from it. */
  private count = 0;
  /** Number of forks that are being started. */
  private starting = 0;

  private constructor(private readonly options: ControlServerOptions) {
    this.http = createServer((request, response) => void this.serve(request, response));
  }

  static async listen(options: ControlServerOptions): Promise<ControlServer> {
    const control = new ControlServer(options);
    await new Promise<void>((resolve, reject) => {
      control.http.once("error", reject);
      control.http.listen(options.port, "127.0.0.1", resolve);
    });
    return control;
  }

  /** Describes the first server, or a fork. */
  describe(fork?: string): ServerDescription {
    const { server, token: controlToken } = this.options;
    const { url, kubeconfig, token } = (fork === undefined ? server : this.forks.get(fork))!;
    const { port } = this.http.address() as AddressInfo;
    const suffix = fork === undefined ? "" : `/forks/${fork}`;
    const control = `http://127.0.0.1:${port}/control${suffix}`;
    return { url, ca: authorityIn(kubeconfig), kubeconfig, token, control, controlToken };
  }

  /** Closes the control interface, the forks and the server. */
  async close(): Promise<void> {
    this.http.close();
    this.http.closeAllConnections();
    await Promise.all([...this.forks.values()].map((fork) => fork.close({ graceMs: 0 })));
    await this.options.server.close({ graceMs: 0 });
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { code, body } = await this.answer(request).catch(failure);
    response.statusCode = code;
    if (body === undefined) return void response.end();
    response.setHeader("content-type", "application/json");
    response.end(`${JSON.stringify(body)}\n`);
  }

  private async answer(request: IncomingMessage): Promise<Answer> {
    if (!isAuthorized(request, this.options.token)) {
      throw new ControlError(401, "controlToken is required as bearer token");
    }
    const body = await bodyOf(request);
    const [root, ...rest] = (request.url ?? "").slice(1).split(/[?#]/, 1)[0]!.split("/");
    const isFork = rest[0] === "forks" && rest.length > 1;
    const fork = isFork ? rest[1]! : undefined;
    const server = fork === undefined ? this.options.server : this.forks.get(fork);
    if (root !== "control" || server === undefined) throw new ControlError(404, "not found");
    const path = isFork ? rest.slice(2) : rest;
    const handler = this.handlers[`${request.method} ${path.join("/")}`];
    if (handler === undefined) throw unknownCall(path, Object.keys(this.handlers));
    return handler({ server, body, fork });
  }

  /** Handlers by method and path, relative to the server or fork. */
  private readonly handlers: Readonly<Record<string, (call: Call) => Answer | Promise<Answer>>> = {
    "GET ": ({ fork }) => ({ code: 200, body: this.describe(fork) }),
    "DELETE ": ({ fork }) => this.remove(fork),
    "POST fork": ({ server }) => this.fork(server),
    "POST reset": async ({ server }) => {
      await server.reset();
      return done;
    },
    "GET faults": ({ server }) => ({ code: 200, body: { pending: server.faults.pending() } }),
    "POST faults": ({ server, body }) => {
      server.faults.next(body as Fault);
      return done;
    },
    "DELETE faults": ({ server }) => {
      server.faults.clear();
      return done;
    },
    "POST faults/watches": ({ server, body }) => ({ code: 200, body: disturb(server, body) }),
    "GET requests": ({ server }) => ({ code: 200, body: { items: server.requests.list() } }),
    "POST requests": ({ server, body }) => ({
      code: 200,
      body: { items: server.requests.list(objectOf(body) as RequestFilter) },
    }),
    "DELETE requests": ({ server }) => {
      server.requests.clear();
      return done;
    },
    "GET clock": ({ server }) => ({ code: 200, body: timeOf(server) }),
    "POST clock": async ({ server, body }) => {
      await moveClock(clockOf(server), objectOf(body));
      return { code: 200, body: timeOf(server) };
    },
  };

  private async fork(server: TestServer): Promise<Answer> {
    if (this.forks.size + this.starting >= maxForks) {
      throw new ControlError(429, `the limit of ${maxForks} forks is reached; delete some`);
    }
    const name = String(++this.count);
    this.starting++;
    try {
      this.forks.set(name, await server.fork());
    } finally {
      this.starting--;
    }
    return { code: 201, body: this.describe(name) };
  }

  private async remove(name: string | undefined): Promise<Answer> {
    if (name === undefined) {
      throw new ControlError(
        405,
        "the first server exits with the program; only forks can be deleted",
      );
    }
    const fork = this.forks.get(name);
    this.forks.delete(name);
    await fork?.close({ graceMs: 0 });
    return done;
  }
}

/**
 * Cuts, expires or delays watches as the body says: `{"action": "delay", "delayMs": 100, "filter":
 * {…}}`.
 */
function disturb({ faults }: TestServer, body: unknown): { readonly watches?: number } {
  const { action, delayMs, filter = {}, ...others } = objectOf(body);
  refuseOthers(others);
  const selected = objectOf(filter) as RequestFilter;
  if (action === "cut") return { watches: faults.cutWatches(selected) };
  if (action === "expire") return { watches: faults.expireWatches(selected) };
  if (action !== "delay") throw new TypeError("action must be cut, expire or delay");
  faults.delayWatches(delayMs as number, selected);
  return {};
}

async function moveClock(clock: VirtualClock, body: Readonly<Record<string, unknown>>) {
  const { advanceMs, to, ...others } = body;
  refuseOthers(others);
  if ((advanceMs === undefined) === (to === undefined)) {
    throw new TypeError("one of advanceMs and to is required");
  }
  const until = to === undefined ? clock.now() + (advanceMs as number) : Date.parse(String(to));
  const distance = until - clock.now();
  if (!(distance >= 0 && distance <= maxAdvanceMs)) {
    throw new TypeError("the clock can only advance, by at most a year");
  }
  await clock.advance(distance);
}

function clockOf(server: TestServer): VirtualClock {
  try {
    return server.clock;
  } catch {
    throw new ControlError(409, "the server uses real time; start it with --virtual-time");
  }
}

function timeOf(server: TestServer): { readonly now: string } {
  return { now: new Date(clockOf(server).now()).toISOString() };
}

function objectOf(body: unknown = {}): Readonly<Record<string, unknown>> {
  if (typeof body === "object" && body !== null && !Array.isArray(body)) {
    return body as Readonly<Record<string, unknown>>;
  }
  throw new TypeError("the body must be an object");
}

function refuseOthers(others: object): void {
  const [name] = Object.keys(others);
  if (name !== undefined) throw new TypeError(`${JSON.stringify(name)} is unknown`);
}

function unknownCall(path: readonly string[], known: readonly string[]): ControlError {
  const suffix = ` ${path.join("/")}`;
  const methods = known.filter((each) => each.endsWith(suffix)).map((each) => each.split(" ")[0]);
  if (methods.length === 0) return new ControlError(404, "not found");
  return new ControlError(405, `the method must be ${methods.join(" or ")}`);
}

function failure(error: unknown): Answer {
  const { message } = error as Error;
  if (error instanceof ControlError) return { code: error.code, body: { message } };
  const isRefusal = error instanceof TypeError || error instanceof RangeError;
  return { code: isRefusal || error instanceof SyntaxError ? 400 : 500, body: { message } };
}

function isAuthorized({ headers }: IncomingMessage, token: string): boolean {
  const given = Buffer.from(headers.authorization ?? "");
  const wanted = Buffer.from(`Bearer ${token}`);
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}

/** Parses the body as JSON; undefined if it is empty. */
async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBodyBytes) throw new ControlError(413, `more than ${maxBodyBytes} bytes`);
    chunks.push(chunk);
  }
  return size === 0 ? undefined : parseJsonText(Buffer.concat(chunks).toString("utf8"));
}

function authorityIn(kubeconfig: string): string {
  const [, encoded = ""] = /certificate-authority-data: "?([\w+/=]+)/.exec(kubeconfig) ?? [];
  return Buffer.from(encoded, "base64").toString("utf8");
}
