/**
 * A process for tests that kill it: opens the store in the given directory and writes with 16 concurrent
 * writers. It prints a line `key revision` for each acknowledged write.
 */
import { durableBackend } from "./durable.ts";

/** The value of a key, by which a reader detects torn writes. */
export function valueFor(key: string): Buffer {
  const length = 100 + (Buffer.from(key).reduce((sum, byte) => sum * 31 + byte, 7) % 5000);
  return Buffer.alloc(length, key);
}

/** Writes until the process is killed. */
export async function writeForever(directory: string): Promise<never> {
  const limits = { retention: { milliseconds: 600_000, revisions: 700, bytes: 1e9 } };
  const backend = await durableBackend({ directory, limits });
  const start = await backend.revision();
  let count = 0;
  const writer = async (): Promise<never> => {
    for (;;) {
      const key = `/kill/${start}-${count++}`;
      const value = valueFor(key);
      const then = [
        { put: key, value },
        { put: "/kill/last", value: valueFor("/kill/last") },
      ];
      const { revision } = await backend.txn({ compare: [], then, otherwise: [] });
      process.stdout.write(`${key} ${revision}\n`);
    }
  };
  return Promise.race(Array.from({ length: 16 }, writer));
}
