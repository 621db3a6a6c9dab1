/**
 * Clients of one user that repeat a request as fast as they can, in a separate process:
 *
 *     elephant.ts <clients> <path> <isPolite> <aim as JSON>...
 *
 * Each client has its own connection; clients are distributed over several aims. After a 429, a
 * polite client waits for Retry-After, as client-go does. Prints `ready` when all clients are
 * connected, and the number of responses by status when standard input ends.
 */
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { type Aim, Connection } from "../load/client.ts";

const [clients = "1", path = "/version", isPolite = "true", ...aims] = process.argv.slice(2);
const counts: Record<string, number> = {};
const life = new AbortController();

async function run(connection: Connection): Promise<void> {
  while (!life.signal.aborted) {
    const { status, retryAfter } = await connection
      .call("GET", path)
      .catch(() => ({ status: 0, retryAfter: 0 }));
    counts[status] = (counts[status] ?? 0) + 1;
    if (status === 0) await sleep(100);
    if (status === 429 && isPolite === "true") await sleep(retryAfter * 1000);
  }
}

const connections = Array.from({ length: Number(clients) }, (_, index) => {
  return new Connection(JSON.parse(aims[index % aims.length]!) as Aim);
});
for (const connection of connections) await connection.call("GET", "/version").catch(() => 0);
console.log("ready");
for (const connection of connections) void run(connection);
process.stdin.resume();
await once(process.stdin, "end");
life.abort();
console.log(JSON.stringify(counts));
process.exit(0);
