import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import type { Link } from "../../pkg/controlplane/cluster/cluster.ts";

/**
 * The effect of a partition on connections. Held bytes arrive when it is healed, as TCP retransmits them.
 * `refuse` breaks connections and takes no new ones; `end` closes one direction of those there are.
 */
export const manners = [
  "hold all",
  "hold requests",
  "hold answers",
  "refuse",
  "end requests",
  "end answers",
] as const;
type Manner = (typeof manners)[number];

/** Whether a partition affects the connections from one place to another. */
type Between = (from: string, to: string) => boolean;

interface Cut {
  readonly between: Between;
  readonly manner: Manner;
}

const host = "127.0.0.1";

/** The connections between local processes, each through a proxy that can partition it. */
export class Network {
  private readonly servers: Server[] = [];
  private readonly connections = new Set<Connection>();
  private readonly cuts = new Set<Cut>();

  /** `users`: processes by name, for links whose client is found by its local port. */
  constructor(private readonly users: () => ReadonlyMap<string, number>) {}

  /** Creates a link; resolves with its local port. */
  async lay({ from, to, port }: Link): Promise<number> {
    const server = createServer({ allowHalfOpen: true }, (client) => {
      this.begin(new Connection({ from, to, port, client }));
    });
    this.servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, host, resolve));
    return (server.address() as AddressInfo).port;
  }

  /** Returns a function that heals the partition; with `breaking`, held connections are closed then. */
  cut(between: Between, manner: Manner): (options: { readonly breaking: boolean }) => void {
    const cut: Cut = { between, manner };
    this.cuts.add(cut);
    const concerned = () => [...this.connections].filter((each) => this.concerns(cut, each));
    for (const connection of concerned()) connection.suffer(manner);
    return ({ breaking }) => {
      this.cuts.delete(cut);
      for (const connection of concerned()) {
        if (breaking) connection.break();
        else if (this.mannerFor(connection) === undefined) connection.mend();
      }
    };
  }

  close(): void {
    for (const server of this.servers) server.close();
    for (const connection of this.connections) connection.break();
  }

  private begin(connection: Connection): void {
    this.connections.add(connection);
    connection.client.once("close", () => this.connections.delete(connection));
    const manner = this.mannerFor(connection);
    if (manner === "refuse") connection.break();
    // A connection needs both directions.
    else if (manner === undefined || manner.startsWith("end")) connection.mend();
  }

  private mannerFor(connection: Connection): Manner | undefined {
    return [...this.cuts].find((cut) => this.concerns(cut, connection))?.manner;
  }

  private concerns({ between }: Cut, connection: Connection): boolean {
    connection.from ??= ownerOf(connection.client, this.users());
    return between(connection.from ?? "", connection.to);
  }
}

interface Ends {
  readonly from: string | undefined;
  readonly to: string;
  readonly port: number;
  readonly client: Socket;
}

/** Forwards the bytes of a connection in both directions, unless they are held. */
class Connection {
  /** Undefined until known. */
  from: string | undefined;
  readonly to: string;
  readonly client: Socket;
  private readonly port: number;
  private server: Socket | undefined;
  private flows = { requests: false, answers: false };

  constructor({ from, to, port, client }: Ends) {
    this.from = from;
    this.to = to;
    this.port = port;
    this.client = client.setNoDelay();
    client.on("error", () => this.break()).on("close", () => this.break());
  }

  /** Forwards all held bytes. */
  mend(): void {
    if (this.client.destroyed) return;
    this.server ??= this.reach();
    if (!this.flows.requests) this.client.pipe(this.server);
    if (!this.flows.answers) this.server.pipe(this.client);
    this.flows = { requests: true, answers: true };
  }

  suffer(manner: Manner): void {
    const { client, server } = this;
    if (manner === "refuse") return this.break();
    if (server === undefined) return;
    const [what, which] = manner.split(" ");
    const all = which === "all";
    if (all || which === "requests") {
      client.unpipe(server);
      this.flows.requests = what === "end";
      if (what === "end") server.end(() => client.resume());
    }
    if (all || which === "answers") {
      server.unpipe(client);
      this.flows.answers = what === "end";
      if (what === "end") client.end(() => server.resume());
    }
  }

  break(): void {
    this.client.destroy();
    this.server?.destroy();
  }

  private reach(): Socket {
    const server = connect({ host, port: this.port, allowHalfOpen: true }).setNoDelay();
    return server.on("error", () => this.break()).on("close", () => this.client.end());
  }
}

/** Process at the other end of a local connection; Linux only. */
function ownerOf(
  { remotePort = 0, localPort = 0 }: Socket,
  processes: ReadonlyMap<string, number>,
): string | undefined {
  const hex = (port: number) => port.toString(16).toUpperCase().padStart(4, "0");
  try {
    const lines = readFileSync("/proc/net/tcp", "utf8").split("\n");
    const fields = lines.map((line) => line.trim().split(/\s+/));
    const isIt = ([, local = "", remote = ""]: readonly string[]) =>
      local.endsWith(`:${hex(remotePort)}`) && remote.endsWith(`:${hex(localPort)}`);
    const name = `socket:[${fields.find(isIt)?.[inodeField]}]`;
    for (const [process, id] of processes) if (isOpen(name, id)) return process;
  } catch {
    // Another operating system, or a process that has exited.
  }
  return undefined;
}

const inodeField = 9;

function isOpen(name: string, process: number): boolean {
  const folder = `/proc/${process}/fd`;
  return readdirSync(folder).some((file) => {
    try {
      return readlinkSync(`${folder}/${file}`) === name;
    } catch {
      return false;
    }
  });
}
