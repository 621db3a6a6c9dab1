import { createServer } from "node:net";

/** Every place that the files of `deploy/` name, as `name:port`. */
const places = [
  ...numbered("etcd", 3).flatMap((name) => [`${name}:2379`, `${name}:2380`]),
  ...numbered("apiserver", 3).map((name) => `${name}:6443`),
  ...numbered("controller-manager", 2).map((name) => `${name}:10257`),
  "balancer:6443",
  "prometheus:9090",
];

export function numbered(name: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `${name}-${index + 1}`);
}

/** Where the places are on this machine. */
export class Addresses {
  readonly #ports: ReadonlyMap<string, number>;

  private constructor(ports: ReadonlyMap<string, number>) {
    this.#ports = ports;
  }

  /** Free ports for all of them but the balancer, which gets `port` unless that is 0. */
  static async free(port: number): Promise<Addresses> {
    const free = await freePorts(places.length);
    const ports = new Map(places.map((place, index) => [place, free[index] as number]));
    if (port !== 0) ports.set("balancer:6443", port);
    return new Addresses(ports);
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

/** Ports that nobody listens on now; all are held until all are found. */
async function freePorts(count: number): Promise<readonly number[]> {
  const servers = Array.from({ length: count }, () => createServer());
  const ports: number[] = [];
  for (const server of servers) {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    if (address !== null && typeof address === "object") ports.push(address.port);
  }
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}
