/** One round of a write load: a number of calls, many in flight, over a few connections. */
import { type Aim, Connection } from "./client.ts";
import { send, type WriteLoad } from "./write-loads.ts";

export const inFlight = 32;
const connections = 4;

export interface WriteRound {
  /** Number of written objects. */
  readonly objects: number;
  /** Duration of the measured calls in seconds, without their preparation. */
  readonly seconds: number;
  /** Latency of each call in ms. */
  readonly latencies: readonly number[];
}

export interface WriteRoundOptions {
  readonly calls: number;
  /** Prefix of the names of objects: unique per round, a DNS label. */
  readonly prefix: string;
  /** Number of the first call, for loads that write it into objects. */
  readonly firstCall: number;
  /** Called between the preparation and the first measured call. */
  readonly onPrepared?: () => Promise<void> | void;
  /** Called right after the last measured call. */
  readonly onDone?: () => void;
}

/** Number of objects that a round of `calls` calls needs. */
export function objectsOf({ isObjectPerCall, objectsPerCall = 1 }: WriteLoad, calls: number) {
  if (objectsPerCall > 1) return objectsPerCall;
  return isObjectPerCall === true ? calls : inFlight;
}

export async function runWriteRound(
  aim: Aim,
  load: WriteLoad,
  { calls, prefix, firstCall, onPrepared, onDone }: WriteRoundOptions,
): Promise<WriteRound> {
  const { prepare, call, isObjectPerCall = false, objectsPerCall = 1 } = load;
  const sessions = Array.from({ length: connections }, () => new Connection(aim));
  const session = (lane: number): Connection => sessions[lane % connections] as Connection;
  const nameOf = (index: number): string => `${prefix}-${firstCall + index}`;
  const count = objectsPerCall > 1 ? 1 : calls;
  const latencies: number[] = [];
  try {
    if (prepare !== undefined) {
      await inLanes(objectsOf(load, calls), (n, lane) => send(session(lane), prepare(nameOf(n))));
    }
    await onPrepared?.();
    const began = performance.now();
    await inLanes(count, async (n, lane) => {
      const sent = performance.now();
      await send(session(lane), call(nameOf(isObjectPerCall ? n : lane), firstCall + n));
      latencies.push(performance.now() - sent);
    });
    const seconds = (performance.now() - began) / 1000;
    onDone?.();
    return { objects: count * objectsPerCall, seconds, latencies };
  } finally {
    for (const each of sessions) each.close();
  }
}

/** Runs `work(n)` for n below `count`, `width` at a time; `lane` numbers the worker. */
export async function inLanes(
  count: number,
  work: (n: number, lane: number) => Promise<unknown>,
  width = inFlight,
): Promise<void> {
  let next = 0;
  const loop = async (_each: unknown, lane: number): Promise<void> => {
    for (let n = next++; n < count; n = next++) await work(n, lane);
  };
  await Promise.all(Array.from({ length: width }, loop));
}
