/**
 * Measures what misbehaving clients cost a server: CPU time, resident memory, and the latency of
 * `/readyz` under their load. Run manually, on an idle machine:
 *
 *     node scripts/build.mjs
 *     node --conditions=source --import=tsx test/fuzz/hostile-clients.ts [directory of a build] [scenario...]
 */
import { type ChildProcess, spawn } from "node:child_process";
import fs from "node:fs";
import http2 from "node:http2";
import https from "node:https";
import os from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const [directory = ".", ...wanted] = process.argv.slice(2);
const scratch = fs.mkdtempSync(path.join(os.tmpdir(), "hostile-clients-"));
const configMaps = "/api/v1/namespaces/default/configmaps";

interface Target {
  readonly child: ChildProcess;
  readonly url: string;
}

async function start(): Promise<Target> {
  const tokens = path.join(scratch, "tokens.csv");
  fs.writeFileSync(tokens, 'admin,admin,admin,"system:masters"\nalice,alice,alice\nbob,bob,bob\n');
  const flags = [
    "--secure-port=0",
    "--bind-address=127.0.0.1",
    "--storage-backend=memory",
    `--data-dir=${path.join(scratch, "data")}`,
    `--token-auth-file=${tokens}`,
  ];
  const words = ["dist/keelson.js", "apiserver", ...flags];
  const child = spawn("node", words, { cwd: directory, stdio: ["ignore", "pipe", "pipe"] });
  const url = await new Promise<string>((resolve, reject) => {
    let text = "";
    const read = (chunk: Buffer): void => {
      text += chunk.toString();
      const found = /https:\/\/127\.0\.0\.1:\d+/.exec(text);
      if (found !== null) resolve(found[0]);
    };
    child.stdout.on("data", read);
    child.stderr.on("data", read);
    child.once("exit", () => reject(new Error(text)));
  });
  return { child, url };
}

/** CPU time of all threads of the server, in ms. */
function cpuOf({ child }: Target): number {
  const tasks = `/proc/${child.pid}/task`;
  const times = fs.readdirSync(tasks).map((task) => {
    return Number(fs.readFileSync(`${tasks}/${task}/schedstat`, "utf8").split(" ")[0]);
  });
  return times.reduce((sum, nanoseconds) => sum + nanoseconds, 0) / 1e6;
}

/** Resident memory of the server, in MB. */
function memoryOf({ child }: Target): number {
  const status = fs.readFileSync(`/proc/${child.pid}/status`, "utf8");
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024);
}

function connect(
  { url }: Target,
  settings: http2.Settings = {},
): Promise<http2.ClientHttp2Session> {
  const session = http2.connect(url, { rejectUnauthorized: false, settings });
  session.on("error", () => undefined);
  return new Promise((resolve) => session.once("connect", () => resolve(session)));
}

interface Call {
  readonly path: string;
  readonly method?: string;
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A request whose response is not read; its stream must be closed by the caller. */
function open(session: http2.ClientHttp2Session, call: Call): http2.ClientHttp2Stream {
  const { path: where, method = "GET", token = "admin", headers = {} } = call;
  const own = { ":path": where, ":method": method, authorization: `Bearer ${token}`, ...headers };
  const stream = session.request(own, { endStream: method === "GET" });
  stream.on("error", () => undefined);
  return stream;
}

/** The status of a response whose body is not read; 0 when the stream was closed without one. */
function headersOf(stream: http2.ClientHttp2Stream): Promise<number> {
  return new Promise((resolve) => {
    stream.once("response", (headers) => resolve(Number(headers[":status"])));
    stream.once("close", () => resolve(0));
  });
}

async function statusOf(stream: http2.ClientHttp2Stream): Promise<number> {
  const status = await headersOf(stream);
  stream.resume();
  return status;
}

async function create(session: http2.ClientHttp2Session, where: string, object: object) {
  const headers = { "content-type": "application/json" };
  const stream = open(session, { path: where, method: "POST", headers });
  stream.end(JSON.stringify(object));
  const status = await statusOf(stream);
  if (status !== 201) throw new Error(`POST ${where}: ${status}`);
}

/** Polls `/readyz` on a separate connection; `stop` returns the longest latency in ms. */
async function watchReadiness(target: Target): Promise<() => Promise<number>> {
  const session = await connect(target);
  let longest = 0;
  const over = new AbortController();
  const work = (async () => {
    while (!over.signal.aborted) {
      const began = performance.now();
      await statusOf(open(session, { path: "/readyz" }));
      longest = Math.max(longest, performance.now() - began);
      await sleep(50);
    }
  })();
  return async () => {
    over.abort();
    await work;
    session.destroy();
    return Math.round(longest);
  };
}

/** Prints the server's cost from the start of `work` until it is idle again. */
async function measure(target: Target, name: string, work: () => Promise<unknown>): Promise<void> {
  const [cpu, memory] = [cpuOf(target), memoryOf(target)];
  const stop = await watchReadiness(target);
  const result = await work();
  const patience = performance.now() + 30_000;
  for (let before = -1000, now = cpuOf(target); now - before > 150; now = cpuOf(target)) {
    before = now;
    await sleep(500);
    if (performance.now() > patience) break;
  }
  const longest = await stop();
  const spent = Math.round(cpuOf(target) - cpu);
  const grown = `${memory} -> ${memoryOf(target)} MB`;
  const tail = result === undefined ? "" : `; ${JSON.stringify(result)}`;
  console.log(`${name}: CPU ${spent} ms, longest readyz ${longest} ms, memory ${grown}${tail}`);
}

const unread: http2.Settings = { initialWindowSize: 0 };

/** Opens `count` requests without reading responses, 50 per connection, which Node limits. */
async function openUnread(target: Target, count: number, call: Call) {
  const sessions: http2.ClientHttp2Session[] = [];
  let answered = 0;
  for (let left = count; left > 0; left -= 50) {
    const session = await connect(target, unread);
    sessions.push(session);
    const streams = Array.from({ length: Math.min(50, left) }, () => open(session, call));
    for (const status of await Promise.all(streams.map(headersOf)))
      answered += status === 200 ? 1 : 0;
  }
  console.log(`  ${answered} of ${count} have begun`);
  return sessions;
}

async function large(target: Target, count: number, bytes: number): Promise<void> {
  const session = await connect(target);
  const data = { text: "x".repeat(bytes) };
  for (let index = 0; index < count; index++) {
    await create(session, configMaps, { metadata: { name: `large-${index}` }, data });
  }
  session.destroy();
}

async function abandonedLists(target: Target): Promise<void> {
  await large(target, 300, 100_000);
  for (const how of ["connections closed", "streams reset"]) {
    let sessions: http2.ClientHttp2Session[] = [];
    await measure(target, "150 unread lists of 30 MB", async () => {
      sessions = await openUnread(target, 150, { path: `${configMaps}?resourceVersion=0` });
    });
    await measure(target, `the same, ${how}`, async () => {
      for (const session of sessions) session.destroy();
    });
  }
}

async function unreadWatches(target: Target): Promise<void> {
  await large(target, 300, 100_000);
  const watches = `${configMaps}?watch=1&resourceVersion=0`;
  for (const count of [1_000, 5_000, 20_000]) {
    let sessions: http2.ClientHttp2Session[] = [];
    await measure(target, `${count} unread watches of 30 MB`, async () => {
      sessions = await openUnread(target, count, { path: watches });
    });
    await measure(target, "300 unread lists beside them", async () => {
      sessions.push(
        ...(await openUnread(target, 300, { path: `${configMaps}?resourceVersion=0` })),
      );
    });
    await measure(target, "all closed", async () => {
      for (const session of sessions) session.destroy();
    });
  }
}

/** Watches of the present, which then miss 100 writes of 100 KB. */
async function lateWatches(target: Target): Promise<void> {
  let sessions: http2.ClientHttp2Session[] = [];
  await measure(target, "2000 unread watches", async () => {
    sessions = await openUnread(target, 2_000, { path: `${configMaps}?watch=1` });
  });
  await measure(target, "100 writes of 100 KB", () => large(target, 100, 100_000));
  await measure(target, "all closed", async () => {
    for (const session of sessions) session.destroy();
  });
}

async function slowBodies(target: Target): Promise<void> {
  const admin = await connect(target);
  await create(admin, "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
    metadata: { name: "writers" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
    subjects: ["alice", "bob"].map((name) => ({ kind: "User", name })),
  });
  admin.destroy();
  const headers = { "content-type": "application/json", "content-length": "100000" };
  const call = { path: configMaps, method: "POST", token: "alice", headers };
  const sessions: http2.ClientHttp2Session[] = [];
  await measure(
    target,
    "5000 bodies that do not arrive, then a write of the same user and of another",
    async () => {
      for (let connection = 0; connection < 10; connection++) {
        const session = await connect(target);
        sessions.push(session);
        for (let index = 0; index < 500; index++) open(session, call).write("{");
      }
      await sleep(1_000);
      const session = await connect(target);
      const json = { "content-type": "application/json" };
      const statuses = ["alice", "bob"].map((token) => {
        const stream = open(session, { ...call, token, headers: json });
        stream.end(JSON.stringify({ metadata: { generateName: "c-" } }));
        return statusOf(stream);
      });
      const [alice, bob] = await Promise.all(statuses);
      session.destroy();
      return { alice, bob };
    },
  );
  for (const session of sessions) session.destroy();
}

async function slashes(target: Target): Promise<void> {
  const session = await connect(target);
  const proxy = "/api/v1/namespaces/default/pods/p/proxy/";
  await measure(target, "a path with 55,000 slashes", async () => {
    return { status: await statusOf(open(session, { path: `${proxy}${"/".repeat(55_000)}x` })) };
  });
  session.destroy();
}

async function longHeaders(target: Target): Promise<void> {
  for (const kib of [15, 17, 60, 70]) {
    const headers = { authorization: "Bearer admin", "x-long": "x".repeat(kib * 1024) };
    const options = { rejectUnauthorized: false, headers, agent: false };
    const status = await new Promise<number>((resolve) => {
      const request = https.get(`${target.url}/version`, options, (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      });
      request.on("error", () => resolve(0));
    });
    console.log(`HTTP/1.1 headers of ${kib} KiB: ${status}`);
  }
}

async function rapidReset(target: Target): Promise<void> {
  await measure(target, "requests reset at once, for 5 s", async () => {
    const end = performance.now() + 5_000;
    let requests = 0;
    while (performance.now() < end) {
      const session = await connect(target);
      for (let index = 0; index < 900 && !session.destroyed; index++) {
        open(session, { path: configMaps }).close(http2.constants.NGHTTP2_CANCEL);
        requests += 1;
      }
      await sleep(5);
      session.destroy();
    }
    return { requests };
  });
}

const scenarios = {
  abandonedLists,
  unreadWatches,
  lateWatches,
  slowBodies,
  slashes,
  longHeaders,
  rapidReset,
};

for (const [name, run] of Object.entries(scenarios)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  console.log(`\n${name}`);
  const target = await start();
  try {
    await run(target);
  } finally {
    target.child.removeAllListeners("exit");
    target.child.kill();
  }
}
fs.rmSync(scratch, { recursive: true });
process.exit(0);
