/**
 * Prints a table of all classes: `node --conditions=source --import=tsx
 * test/fuzz/event-loop-stalls/run.ts [part of a name]`.
 */
import { acceptedBodies } from "./accepted-bodies.ts";
import { hostileBodies } from "./hostile-bodies.ts";
import { MeasuredServer } from "./measure.ts";

const [part = ""] = process.argv.slice(2);
const server = await MeasuredServer.start();
console.log(
  "| body | MB | status | longest stall, ms | its CPU, ms | /readyz, ms | CPU, ms | RSS, MB |",
);
console.log("|---|---|---|---|---|---|---|---|");
for (const each of [...hostileBodies, ...acceptedBodies]) {
  if (!each.name.includes(part)) continue;
  const { status, text, stallMs, turnMs, readyMs, cpuMs, rssMb } = await server.send(each);
  const figures = [stallMs, turnMs, readyMs, cpuMs, rssMb].map((figure) => figure.toFixed(0));
  const size = (each.body.length / 1e6).toFixed(1);
  console.log(`| ${[each.name, size, status, ...figures].join(" | ")} |`);
  if (process.env.VERBOSE !== undefined) console.log(`  ${text}`);
}
await server.close();
