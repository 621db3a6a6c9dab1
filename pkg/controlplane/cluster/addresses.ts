import { type HeldPort, holdPort } from "#base";
import { StartError } from "../start/start-error.ts";

const balancer = "balancer:6443";

/** What the files of `deploy/` name beside the balancer, as `name:port`. */
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
   * Free ports for all of them, and for the balancer `port` unless that is 0; held until they are
   * released.
   * @throws StartError if the port is in use
   */
  static async free(port: number): Promise<ClusterAddresses> {
    const first = await holdPort(port).catch((error: NodeJS.ErrnoException) => {
      throw new StartError(`--port: ${port} cannot be used (${error.code})`);
    });
    // All are held until all are found.
    const others = await Promise.all(places.map(() => holdPort(0)));
    const found = new Map(places.map((place, index) => [place, others[index]!.port]));
    found.set(balancer, first.port);
    return new ClusterAddresses(found, [first, ...others]);
  }

  /** Frees the ports for the processes that listen on them. */
  async release(): Promise<void> {
    await Promise.all(this.#held.map((each) => each.release()));
  }

  /** The same places, some of them at other ports. */
  moved(ports: ReadonlyMap<string, number>): ClusterAddresses {
    return new ClusterAddresses(new Map([...this.#ports, ...ports]), []);
  }

  port(place: string): number {
    const port = this.#ports.get(place);
    if (port === undefined) throw new Error(`${place} is no place of the cluster`);
    return port;
  }

  of(place: string): string {
    return `127.0.0.1:${this.port(place)}`;
  }

  /** A text of `deploy/` with the places of this machine. */
  replaced(text: string): string {
    let replaced = text;
    for (const place of this.#ports.keys()) replaced = replaced.replaceAll(place, this.of(place));
    return replaced;
  }
}
