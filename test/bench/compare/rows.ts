/** The loads of a comparison of two API servers. */
import type { Aim } from "../load/client.ts";
import { fanOut, keelsonPaths, readRate, reads } from "../load/measure.ts";
import { quantile } from "../load/processes.ts";
import { type WriteLoad, writeLoads } from "../load/write-loads.ts";
import { objectsOf, runWriteRound } from "../load/write-rounds.ts";

export interface RowOptions {
  /** Number of listed ConfigMaps. */
  readonly objects: number;
  /** Duration in seconds of a round of reads or watches. */
  readonly seconds: number;
  /** Number of calls of a round of writes. */
  readonly calls: number;
  /** Numbers of watchers in the rows with eight writers. */
  readonly watchers: readonly number[];
}

/** One measurement. */
export interface Figure {
  /** Requests, written objects or events per second. */
  readonly perSecond: number;
  /** 99th percentile of latency in ms if calls are timed. */
  readonly p99?: number;
}

export interface Row {
  readonly name: string;
  readonly measure: (aim: Aim) => Promise<Figure>;
}

const run = `r${Date.now().toString(36)}`;
const writers = 8;

export function comparisonRows(options: RowOptions): readonly Row[] {
  return [...readRows(options), ...writeRows(options), ...watchRows(options)];
}

function readRows({ objects, seconds }: RowOptions): readonly Row[] {
  const names: Readonly<Record<keyof typeof reads, string>> = {
    get: "GET, consistent",
    getCached: "GET, resourceVersion=0",
    page: "LIST limit=500",
    list: `LIST of ${objects}, JSON`,
    listProtobuf: `LIST of ${objects}, Protobuf`,
  };
  return (Object.keys(reads) as (keyof typeof reads)[]).map((what) => ({
    name: names[what],
    measure: async (aim) => ({
      perSecond: await readRate(aim, { paths: keelsonPaths, what }, seconds),
    }),
  }));
}

function writeRows({ calls }: RowOptions): readonly Row[] {
  let firstCall = 0;
  const measure = async (aim: Aim, load: WriteLoad): Promise<Figure> => {
    const options = { calls, prefix: run, firstCall };
    firstCall += objectsOf(load, calls);
    const { objects, seconds, latencies } = await runWriteRound(aim, load, options);
    const perSecond = objects / seconds;
    return latencies.length === 1 ? { perSecond } : { perSecond, p99: quantile(latencies, 0.99) };
  };
  return Object.entries(writeLoads).map(([name, load]) => ({
    name,
    measure: (aim) => measure(aim, load),
  }));
}

function watchRows({ watchers, seconds }: RowOptions): readonly Row[] {
  const loads = [[1, 1] as const, ...watchers.map((each) => [each, writers] as const)];
  return loads.map(([watching, writing]) => ({
    name: `watch, ${watching} ${plural("watcher", watching)}, ${writing} ${plural("writer", writing)}`,
    measure: async (aim) => {
      const load = { watchers: watching, writers: writing, seconds };
      const { events, p99 } = await fanOut(aim, keelsonPaths, load);
      return { perSecond: events, p99 };
    },
  }));
}

const plural = (noun: string, count: number): string => (count === 1 ? noun : `${noun}s`);
