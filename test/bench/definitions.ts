/**
 * `npm run bench:definitions`: the cost of 2,000 CustomResourceDefinitions: memory of each,
 * aggregated discovery after a change, and the time until another one is established and served.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { type RunningServer, startServer } from "../../cmd/keelson/index.ts";
import { custom, definition, definitions as path } from "./load/custom.ts";

const count = 2000;
const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const width = 16;

async function post(server: RunningServer, where: string, body: object): Promise<void> {
  const headers = { "content-type": "application/json" };
  const response = await server.fetch(where, {
    method: "POST",
    headers,
    body: JSON.stringify(body),
  });
  if (response.status !== 201) throw new Error(await response.text());
  await response.arrayBuffer();
}

/** Milliseconds until an object of the definition can be created. */
async function untilServed(server: RunningServer, index: number): Promise<number> {
  const began = performance.now();
  const { name, collection, object } = custom(index);
  await post(server, path, definition(index));
  const where = `${path}/${name}`;
  for (;;) {
    const { status } = (await (await server.fetch(where)).json()) as any;
    const found = status.conditions?.find((each: any) => each.type === "Established");
    if (found?.status === "True") break;
    await sleep(1);
  }
  await post(server, collection, object);
  return performance.now() - began;
}

async function discovery(server: RunningServer): Promise<{ ms: number; bytes: number }> {
  const began = performance.now();
  const response = await server.fetch("/apis", { headers: { accept: aggregated } });
  const { byteLength } = await response.arrayBuffer();
  return { ms: performance.now() - began, bytes: byteLength };
}

function heap(): number {
  (globalThis as { gc?: () => void }).gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 2 ** 20;
}

function shown(label: string, value: number, unit: string): void {
  console.log(`${label.padEnd(52)} ${value.toFixed(value < 10 ? 2 : 0).padStart(8)} ${unit}`);
}

const server = await startServer({ controllers: false });
await untilServed(server, count + 1000);
const before = heap();
const began = performance.now();
for (let start = 0; start < count; start += width) {
  const wave = Array.from({ length: Math.min(width, count - start) }, (_each, n) => start + n);
  await Promise.all(wave.map((index) => untilServed(server, index)));
}
shown(`${count} definitions created and served, each`, (performance.now() - began) / count, "ms");
await sleep(1000);
shown("memory of each (twice collected)", (heap() - before) / count, "MB");
await discovery(server);
const times: number[] = [];
const found: number[] = [];
for (let index = count; index < count + 20; index++) {
  times.push(await untilServed(server, index));
  const { ms, bytes } = await discovery(server);
  found.push(ms);
  if (index === count) shown("aggregated discovery, size", bytes / 2 ** 20, "MB");
}
const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
shown("one more: established and its first object created", median(times), "ms");
shown("the slowest of 20", Math.max(...times), "ms");
shown("aggregated discovery after a change", median(found), "ms");
shown("aggregated discovery unchanged", (await discovery(server)).ms, "ms");
const indexed = performance.now();
await (await server.fetch("/openapi/v3")).arrayBuffer();
shown("index of OpenAPI v3, first", performance.now() - indexed, "ms");
await server.close();
