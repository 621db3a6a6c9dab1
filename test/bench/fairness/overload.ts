/** Sends requests at a multiple of a server's capacity. */
import { setTimeout as sleep } from "node:timers/promises";
import { type Aim, Connection } from "../load/client.ts";

export interface OverloadFigures {
  /** Successful responses per second. */
  readonly goodput: number;
  /** Responses by status; 0 = the connection failed. */
  readonly statuses: Readonly<Record<string, number>>;
  /** Longest time in ms until a response was complete. */
  readonly longestMs: number;
  /** Memory of the server in MiB, every second. */
  readonly memory: readonly number[];
}

export interface OverloadOptions {
  readonly aims: readonly Aim[];
  readonly path: string;
  readonly seconds: number;
  /** Requests sent per second, whether or not earlier ones have completed. */
  readonly perSecond: number;
  readonly connections: number;
  /** Resident memory of the server in MiB. */
  readonly memory: () => number;
}

/** Number of concurrent requests at which a server reaches its peak throughput. */
const peakInFlight = 8;
/** Maximum number of open requests of the load generator. */
const maxOpen = 20_000;

/** Measures successful responses per second with few concurrent requests. */
export async function peakGoodput(
  options: Pick<OverloadOptions, "aims" | "path" | "seconds">,
): Promise<number> {
  const connections = options.aims.map((aim) => new Connection(aim));
  const end = performance.now() + options.seconds * 1000;
  let good = 0;
  const worker = async (index: number) => {
    while (performance.now() < end) {
      const { status } = await connections[index % connections.length]!.call("GET", options.path);
      if (status === 200) good++;
    }
  };
  await Promise.all(Array.from({ length: peakInFlight }, (_, index) => worker(index)));
  for (const connection of connections) connection.close();
  return good / options.seconds;
}

export async function overload(options: OverloadOptions): Promise<OverloadFigures> {
  const { aims, path, seconds, perSecond } = options;
  const connections = Array.from(
    { length: options.connections },
    (_, index) => new Connection(aims[index % aims.length]!),
  );
  const statuses: Record<string, number> = {};
  const memory: number[] = [];
  let [sent, longestMs, good] = [0, 0, 0];
  const start = performance.now();
  const send = (n: number) => {
    const began = performance.now();
    const note = ({ status }: { readonly status: number }) => {
      statuses[status] = (statuses[status] ?? 0) + 1;
      longestMs = Math.max(longestMs, performance.now() - began);
      if (status === 200 && performance.now() < start + seconds * 1000) good++;
    };
    const connection = connections[n % connections.length]!;
    return connection.call("GET", path).then(note, () => note({ status: 0 }));
  };
  const running = new Set<Promise<void>>();
  for (let elapsed = 0; elapsed < seconds; elapsed = (performance.now() - start) / 1000) {
    const due = Math.min(elapsed * perSecond - sent, maxOpen - running.size);
    for (let index = 0; index < due; index++) {
      const request = send(sent++).finally(() => running.delete(request));
      running.add(request);
    }
    if (memory.length < elapsed) memory.push(options.memory());
    await sleep(10);
  }
  await Promise.all(running);
  for (const connection of connections) connection.close();
  return { goodput: good / seconds, statuses, longestMs, memory };
}
