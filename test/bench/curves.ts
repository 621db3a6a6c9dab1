/** How costs grow with what a server holds: each row ten times the one before. */
import { setTimeout as sleep } from "node:timers/promises";
import { type Aim, configMap, Connection, rate } from "./client.ts";
import { custom, definition, definitions } from "./custom.ts";

export interface CurveOptions {
  /** Longest time of one figure. */
  readonly seconds: number;
  /** Greatest numbers; the rows before have a tenth and a hundredth. */
  readonly objects: number;
  readonly watchers: number;
  readonly namespaces: number;
  /** Defined by CustomResourceDefinitions; those that are built in come on top. */
  readonly kinds: number;
}

/** A line of a table. */
export type PrintRow = (cells: readonly string[]) => void;

const small = "x".repeat(100);
const inFlight = 32;
/** Streams that one HTTP/2 connection carries here. */
const streamsPerConnection = 500;

export async function curves(aim: Aim, options: CurveOptions, print: PrintRow): Promise<void> {
  const connection = new Connection(aim);
  try {
    await objectCurve(connection, options, print);
    await namespaceCurve(connection, options, print);
    await kindCurve(connection, options, print);
    await watcherCurve(aim, options, print);
  } finally {
    connection.close();
  }
}

function steps(greatest: number): readonly number[] {
  return [greatest / 100, greatest / 10, greatest].map((step) => Math.max(1, Math.round(step)));
}

const whole = (value: number): string => value.toFixed(value < 10 ? 2 : 0);

async function objectCurve(
  connection: Connection,
  { objects, seconds }: CurveOptions,
  print: PrintRow,
): Promise<void> {
  const collection = await inNamespace(connection, "curve-objects");
  print(["objects", "create/s", "GET/s", "page/s", "LIST s", "us/object", "update/s"]);
  let there = 0;
  for (const count of steps(objects)) {
    const created = await createMany(connection, collection, { from: there, to: count });
    there = count;
    const one = `${collection}/object-${count >> 1}`;
    const get = await rate(seconds, inFlight, () => connection.call("GET", one));
    const page = `${collection}?limit=500`;
    const pages = await rate(seconds, 8, () => connection.call("GET", page));
    const start = performance.now();
    await connection.call("GET", collection);
    const listed = (performance.now() - start) / 1000;
    const updated = await rate(seconds, inFlight, (n) => {
      const name = `object-${n % count}`;
      const body = configMap({ name }, `${n}`);
      return connection.call("PUT", `${collection}/${name}`, { body });
    });
    const perObject = (listed * 1e6) / count;
    const figures = [count, created, get, pages, listed, perObject, updated];
    print(figures.map(whole));
  }
}

async function namespaceCurve(
  connection: Connection,
  { namespaces, seconds }: CurveOptions,
  print: PrintRow,
): Promise<void> {
  print(["namespaces", "create/s", "LIST one/s", "LIST all/s"]);
  let there = 0;
  for (const count of steps(namespaces)) {
    const start = performance.now();
    for (let index = there; index < count; index++) {
      const collection = await inNamespace(connection, `curve-${index}`);
      await createMany(connection, collection, { from: 0, to: 10 });
    }
    const created = ((count - there) * 11) / ((performance.now() - start) / 1000);
    there = count;
    const one = `/api/v1/namespaces/curve-${count >> 1}/configmaps`;
    const own = await rate(seconds, 8, () => connection.call("GET", one));
    const all = await rate(seconds, 8, () => connection.call("GET", "/api/v1/namespaces"));
    print([count, created, own, all].map(whole));
  }
}

async function kindCurve(
  connection: Connection,
  { kinds, seconds }: CurveOptions,
  print: PrintRow,
): Promise<void> {
  const builtIn = await inNamespace(connection, "curve-kinds");
  await createMany(connection, builtIn, { from: 0, to: 10 });
  print(["kinds", "ms/kind", "GET/s", "own GET/s", "own LIST/s", "own POST/s", "/apis ms"]);
  let there = 0;
  for (const count of steps(kinds)) {
    const start = performance.now();
    const more = Math.max(1, count - there);
    for (; there < count; there++) await define(connection, there);
    const each = (performance.now() - start) / more;
    const { collection, object } = custom(count >> 1);
    const get = await rate(seconds, inFlight, () => connection.call("GET", `${builtIn}/object-5`));
    const own = await rate(seconds, inFlight, () => connection.call("GET", `${collection}/one`));
    const page = `${collection}?limit=9`;
    const list = await rate(seconds, inFlight, () => connection.call("GET", page));
    const run = Date.now().toString(36);
    const made = await rate(seconds, inFlight, (n) => {
      const body = { ...object, metadata: { name: `made-${run}-${n}` } };
      return connection.call("POST", collection, { body: Buffer.from(JSON.stringify(body)) });
    });
    const asked = performance.now();
    await connection.call("GET", "/apis", { accept: aggregated });
    print([count, each, get, own, list, made, performance.now() - asked].map(whole));
  }
}

const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/** Makes a kind and its first object, as soon as it is served. */
async function define(connection: Connection, index: number): Promise<void> {
  const { collection, object } = custom(index);
  const body = Buffer.from(JSON.stringify(definition(index)));
  await connection.call("POST", definitions, { body });
  for (;;) {
    const first = Buffer.from(JSON.stringify(object));
    const { status } = await connection.call("POST", collection, { body: first });
    if (status === 201 || status === 409) return;
    // It is not there yet, or on its way.
    if (status !== 404 && status !== 429) throw new Error(`${collection}: status ${status}`);
    await sleep(1);
  }
}

async function watcherCurve(
  aim: Aim,
  { watchers, seconds }: CurveOptions,
  print: PrintRow,
): Promise<void> {
  print(["watchers", "write/s", "events/s", "us/event", "p99 ms"]);
  for (const count of steps(watchers)) print((await deliveries(aim, count, seconds)).map(whole));
}

/** One writer at a time; each waits until its event has reached everyone. */
async function deliveries(aim: Aim, watchers: number, seconds: number): Promise<readonly number[]> {
  const writer = new Connection(aim);
  const collection = await inNamespace(writer, "curve-watchers");
  const list = await writer.call("GET", `${collection}?limit=1`, { keep: true });
  const { resourceVersion } = JSON.parse(list.body.toString()).metadata;
  const connections: Connection[] = [];
  let [delivered, arrived] = [0, () => undefined as void];
  for (let index = 0; index < watchers; index++) {
    if (index % streamsPerConnection === 0) connections.push(new Connection(aim));
    const query = `?watch=1&resourceVersion=${resourceVersion}`;
    const stream = connections.at(-1)!.open("GET", collection + query);
    stream.on("error", (error) => console.error(`watch: ${error.message}`));
    stream.on("data", (chunk: Buffer) => {
      for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) delivered++;
      arrived();
    });
    await new Promise((resolve) => stream.once("response", resolve));
  }
  const latencies: number[] = [];
  const run = Date.now().toString(36);
  const start = performance.now();
  const end = start + seconds * 1000;
  for (let writes = 1; performance.now() < end; writes++) {
    const sent = performance.now();
    const all = new Promise<void>((resolve) => {
      arrived = () => {
        if (delivered >= writes * watchers) resolve();
      };
    });
    const body = configMap({ name: `w${run}-${writes}` }, small);
    await writer.call("POST", collection, { body });
    await all;
    latencies.push(performance.now() - sent);
  }
  const spent = (performance.now() - start) / 1000;
  for (const connection of [writer, ...connections]) connection.close();
  latencies.sort((a, b) => a - b);
  const p99 = latencies[Math.floor(latencies.length * 0.99)] ?? 0;
  return [watchers, latencies.length / spent, delivered / spent, (spent * 1e6) / delivered, p99];
}

/** The path of the config maps of a namespace, which is made unless it is there. */
async function inNamespace(connection: Connection, name: string): Promise<string> {
  const body = Buffer.from(
    JSON.stringify({ apiVersion: "v1", kind: "Namespace", metadata: { name } }),
  );
  await connection.call("POST", "/api/v1/namespaces", { body });
  return `/api/v1/namespaces/${name}/configmaps`;
}

/** Creates a second. */
async function createMany(
  connection: Connection,
  collection: string,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<number> {
  let next = from;
  const start = performance.now();
  const worker = async (): Promise<void> => {
    for (let index = next++; index < to; index = next++) {
      const body = configMap({ name: `object-${index}` }, small);
      const created = await connection.call("POST", collection, { body });
      if (created.status >= 400) throw new Error(created.body.toString());
    }
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
  return (to - from) / ((performance.now() - start) / 1000);
}
