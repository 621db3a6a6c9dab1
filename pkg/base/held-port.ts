import { createServer } from "node:net";
import { cryptoRandom } from "./random.ts";

/** A reserved port of 127.0.0.1: other processes cannot listen on it until it is released. */
export interface HeldPort {
  readonly port: number;
  release(): Promise<void>;
}

/** Lower than what systems give to clients, and to servers that ask for any port. */
const lowest = 20_000;
const count = 10_000;
const maxAttempts = 100;

/**
 * Reserves a port for a process that starts later; 0 = any free one. Between the release and that start,
 * the system does not assign it to connections or to servers that listen on port 0.
 * @throws the error of `listen`
 */
export async function holdPort(port: number): Promise<HeldPort> {
  if (port !== 0) return listening(port);
  for (let tries = 1; ; tries++) {
    try {
      return await listening(lowest + cryptoRandom.below(count));
    } catch (error) {
      if (tries === maxAttempts) throw error;
    }
  }
}

function listening(port: number): Promise<HeldPort> {
  const server = createServer();
  const release = () => new Promise<void>((resolve) => server.close(() => resolve()));
  return new Promise((resolve, reject) => {
    server.once("error", reject).listen(port, "127.0.0.1", () => resolve({ port, release }));
  });
}
