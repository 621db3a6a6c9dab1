/**
 * A process to be killed: opens the store in the directory given as its argument and writes with
 * sixteen writers at once. Each line that it prints, `key revision`, is an acknowledged write.
 */
import { durableBackend } from "./durable.ts";

/** The value that belongs to a key, so that the reader can tell a torn one. */
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
