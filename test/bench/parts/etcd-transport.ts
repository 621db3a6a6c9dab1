/**
 * Compares etcd3's KV client with Keelson's channel: the same creates and reads on one etcd, in
 * turns. Prints throughput, and CPU time of this process per call.
 *
 *     node --conditions=source --import=tsx test/bench/parts/etcd-transport.ts [--rounds=5] [--calls=3000]
 */
import { parseArgs } from "node:util";
import { Etcd3 } from "etcd3";
import { etcdBackend } from "../../../pkg/storage/etcd/index.ts";
import { startEtcd } from "../../../pkg/storage/etcd/testing.ts";

interface Transport {
  readonly name: string;
  /** Creates a key that does not exist, in a transaction that compares its revision with 0. */
  readonly create: (key: string, value: Buffer) => Promise<void>;
  readonly get: (key: string) => Promise<void>;
}

interface Figures {
  readonly perSecond: number;
  readonly cpuMicros: number;
}

const concurrency = 64;
const value = Buffer.alloc(1_000, "v");

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "5" },
    calls: { type: "string", default: "3000" },
  },
});
const [rounds, calls] = [Number(values.rounds), Number(values.calls)];

await using etcd = await startEtcd();
await using backend = etcdBackend({ endpoints: etcd.endpoints });
const library = new Etcd3({ hosts: etcd.endpoints[0] ?? "" });

const transports: readonly Transport[] = [
  {
    name: "etcd3",
    create: async (key, bytes) => {
      const { succeeded } = await library
        .if(key, "Mod", "==", 0)
        .then(library.put(key).value(bytes))
        .commit();
      if (!succeeded) throw new Error(`${key} exists`);
    },
    get: async (key) => {
      if ((await library.get(key).buffer()) === null) throw new Error(`no ${key}`);
    },
  },
  {
    name: "channel",
    create: async (key, bytes) => {
      const { succeeded } = await backend.txn({
        compare: [{ key, modRevision: 0 }],
        then: [{ put: key, value: bytes }],
        otherwise: [],
      });
      if (!succeeded) throw new Error(`${key} exists`);
    },
    get: async (key) => {
      if ((await backend.get(key)).entry === undefined) throw new Error(`no ${key}`);
    },
  },
];

/** Runs `calls` calls, with fixed concurrency. */
async function measure(call: (index: number) => Promise<void>): Promise<Figures> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < calls) await call(next++);
  };
  const cpu = process.cpuUsage();
  const start = performance.now();
  await Promise.all(Array.from({ length: concurrency }, worker));
  const seconds = (performance.now() - start) / 1_000;
  const { user, system } = process.cpuUsage(cpu);
  return { perSecond: calls / seconds, cpuMicros: (user + system) / calls };
}

function median(figures: readonly number[]): number {
  return figures.toSorted((a, b) => a - b)[Math.floor(figures.length / 2)]!;
}

const results = new Map<string, Figures[]>();
// The first round warms up and is not counted.
for (let round = 0; round <= rounds; round++) {
  const order = round % 2 === 0 ? transports : transports.toReversed();
  for (const { name, create, get } of order) {
    const key = (index: number): string => `/bench/${name}/${round}/${index}`;
    const measured = [
      [`create ${name}`, await measure((index) => create(key(index), value))],
      [`get    ${name}`, await measure((index) => get(key(index)))],
    ] as const;
    if (round === 0) continue;
    for (const [label, figures] of measured) {
      results.set(label, [...(results.get(label) ?? []), figures]);
    }
  }
}
library.close();

console.log(`${rounds} rounds of ${calls} calls, ${concurrency} at a time; medians`);
for (const [label, figures] of [...results].sort(([a], [b]) => (a < b ? -1 : 1))) {
  const perSecond = median(figures.map((each) => each.perSecond)).toFixed(0);
  const cpuMicros = median(figures.map((each) => each.cpuMicros)).toFixed(0);
  console.log(
    `${label.padEnd(16)}${perSecond.padStart(7)}/s ${cpuMicros.padStart(6)} us CPU per call`,
  );
}
