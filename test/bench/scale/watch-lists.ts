/**
 * Many concurrent watch-lists of 400 MB (KEP-3157): peak memory of the server above its cache,
 * while the client reads all of them as fast as possible, and while it reads none. Then some are
 * read to the bookmark that ends the list.
 */
import http2 from "node:http2";
import { setTimeout as sleep } from "node:timers/promises";
import { type Aim, configMap } from "../load/client.ts";
import { cpuOfTree, memoryOfTree } from "../load/processes.ts";
import { Client, type Scene, type Scenario } from "./scenario.ts";
import { digits, storeClones } from "./stored.ts";

const namespace = "scale-lists";
const collection = `/api/v1/namespaces/${namespace}/configmaps`;
const path =
  `${collection}?watch=1&sendInitialEvents=true&allowWatchBookmarks=true` +
  "&resourceVersionMatch=NotOlderThan";
const streamsPerConnection = 64;
/** Number of streams that are read to the end. */
const wholeStreams = 4;
const sampleMs = 50;

export const watchLists: Scenario = {
  sizeName: "lists",
  sizes: [64, 256, 1_024],
  smallSizes: [2, 4, 8],
  async *measure(scene, sizes) {
    const isSmall = scene.calls < 50;
    const [objects, bytes] = isSmall ? [20, 10_000] : [420, 950_000];
    const server = await scene.start();
    const client = new Client(server.aim);
    await client.createNamespace(namespace);
    const name = `large-${digits(0)}`;
    await client.call("POST", collection, { body: configMap({ name }, "x".repeat(bytes)) });
    await storeClones({
      endpoint: scene.endpoint,
      key: `/registry/configmaps/${namespace}/${name}`,
      replace: (n) => [[name, `large-${digits(n)}`]],
      from: 1,
      to: objects,
    });
    await client.get(collection);
    const base = memoryOfTree(server.pid);
    for (const size of sizes) {
      const load = { aim: server.aim, pid: server.pid, streams: size, seconds: scene.seconds };
      const stalled = await hold({ ...load, isRead: false });
      const read = await hold({ ...load, isRead: true });
      const began = performance.now();
      const lists = Array.from({ length: wholeStreams }, () => readList(server.aim));
      await Promise.all(lists);
      const seconds = (performance.now() - began) / 1_000;
      const costs = {
        "cache MiB": base,
        "none read: MiB beside it": Math.max(1, stalled.peakMib - base),
        "all read: MiB beside it": Math.max(1, read.peakMib - base),
        "CPU ms per MB": read.cpuMs / (read.bytes / 1e6),
        "one of 4 lists s": seconds,
      };
      yield { size, costs };
    }
    client.close();
  },
};

interface HoldLoad {
  readonly aim: Aim;
  readonly pid: number;
  readonly streams: number;
  readonly seconds: Scene["seconds"];
  /** Whether the client reads, or lets its windows of 64 KB fill. */
  readonly isRead: boolean;
}

interface Held {
  readonly peakMib: number;
  readonly bytes: number;
  readonly cpuMs: number;
}

/** Holds watch-lists for some seconds after the server has accepted all of them. */
async function hold({ aim, pid, streams, seconds, isRead }: HoldLoad): Promise<Held> {
  const sessions: http2.ClientHttp2Session[] = [];
  let [accepted, bytes, peakMib] = [0, 0, 0];
  const cpuBefore = cpuOfTree(pid);
  for (let n = 0; n < streams; n++) {
    if (n % streamsPerConnection === 0) sessions.push(connect(aim));
    const stream = open(sessions.at(-1)!, aim);
    stream.on("response", (headers) => {
      if (headers[":status"] !== 200) throw new Error(`status ${headers[":status"]}`);
      accepted++;
    });
    if (isRead) stream.on("data", (chunk: Buffer) => (bytes += chunk.length));
  }
  let end = Infinity;
  while (performance.now() < end) {
    await sleep(sampleMs);
    peakMib = Math.max(peakMib, memoryOfTree(pid));
    if (accepted === streams && end === Infinity) end = performance.now() + seconds * 1_000;
  }
  const cpuMs = (cpuOfTree(pid) - cpuBefore) / 1_000;
  for (const session of sessions) session.destroy();
  return { peakMib, bytes, cpuMs };
}

/** Reads one watch-list until the bookmark that ends it. */
function readList(aim: Aim): Promise<void> {
  const session = connect(aim);
  return new Promise<void>((resolve, reject) => {
    const stream = open(session, aim);
    let last = "";
    stream.on("data", (chunk: Buffer) => {
      last = (last + chunk.toString("latin1")).slice(-2_000);
      if (last.includes('"k8s.io/initial-events-end":"true"')) resolve();
    });
    stream.on("error", reject);
    stream.on("end", () => reject(new Error(`the watch has ended: ${last}`)));
  }).finally(() => session.destroy());
}

function connect({ url }: Aim): http2.ClientHttp2Session {
  const session = http2.connect(url, { rejectUnauthorized: false });
  session.on("error", (error) => console.error(`connection: ${error.message}`));
  return session;
}

function open(session: http2.ClientHttp2Session, { token }: Aim): http2.ClientHttp2Stream {
  const stream = session.request({ ":path": path, authorization: `Bearer ${token}` });
  stream.on("error", (error) => console.error(`watch: ${error.message}`));
  return stream;
}
