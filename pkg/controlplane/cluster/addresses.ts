import { type HeldPort, holdPort } from "#base";
import { StartError } from "../start/start-error.ts";

const balancer = "balancer:6443";

/** Addresses that the files of `deploy/` contain, except the load balancer's, as `name:port`. */
const places = [
  ...numbered("etcd", 3).flatMap((name) => [`${name}:2379`, `${name}:2380`]),
  ...numbered("apiserver", 3).map((name) => `${name}:6443`),
  ...numbered("controller-manager", 2).map((name) => `${name}:10257`),
  "prometheus:9090",
];

export function numbered(name: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `${name}-${index + 1}`);
}

/** Addresses of the cluster's processes on this host. */
export class ClusterAddresses {
  readonly #ports: ReadonlyMap<string, number>;
  readonly #held: readonly HeldPort[];

  private constructor(ports: ReadonlyMap<string, number>, held: readonly HeldPort[]) {
    this.#ports = ports;
    this.#held = held;
  }

  /**
   * Reserves a free port for each process, and `port` for the load balancer unless it is 0, until
   * `release` is called.
   * @throws StartError if the port is in use
   */
  static async free(port: number): Promise<ClusterAddresses> {
    const first = await holdPort(port).catch((error: NodeJS.ErrnoException) => {
      throw new StartError(`--port: ${port} cannot be used (${error.code})`);
    });
    // All ports stay reserved until all are found.
    const others = await Promise.all(places.map(() => holdPort(0)));
    const found = new Map(places.map((place, index) => [place, others[index]!.port]));
    found.set(balancer, first.port);
    return new ClusterAddresses(found, [first, ...others]);
  }

  /** Releases the ports for the processes that will listen on them. */
  async release(): Promise<void> {
    await Promise.all(this.#held.map((each) => each.release()));
  }

  /** Returns the same addresses with the ports of some replaced. */
  moved(ports: ReadonlyMap<string, number>): ClusterAddresses {
    return new ClusterAddresses(new Map([...this.#ports, ...ports]), []);
  }

  port(place: string): number {
    const port = this.#ports.get(place);
    if (port === undefined) throw new Error(`${place} is not an address of the cluster`);
    return port;
  }

  of(place: string): string {
    return `127.0.0.1:${this.port(place)}`;
  }

  /** Returns a text of `deploy/` with the addresses replaced by those on this host. */
  replaced(text: string): string {
    let replaced = text;
    for (const place of this.#ports.keys()) replaced = replaced.replaceAll(place, this.of(place));
    return replaced;
  }
}
