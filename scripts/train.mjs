// Fills the bundle's code cache: runs API servers, which on exit store the code that V8 has compiled
// for requests.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { connect } from "node:http2";
import { connect as connectSocket, createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/** Rounds of requests: after two, V8 has compiled nearly all functions that they call. */
const rounds = 2;
const deployments = "/apis/apps/v1/namespaces/default/deployments";

/** In memory; then on etcd, whose client is code of its own, if etcd is on PATH. */
export async function train(root) {
  const data = mkdtempSync(path.join(tmpdir(), "keelson-train-"));
  try {
    await trainOn(root, data, ["--storage-backend=memory"]);
    if (!spawnSync("etcd", ["--version"]).error) await trainOnEtcd(root, data);
  } finally {
    rmSync(data, { recursive: true, force: true });
  }
}

async function trainOnEtcd(root, data) {
  const [client, peer] = await freePorts(2);
  const urls = [client, peer].map((port) => `http://127.0.0.1:${port}`);
  const args = [
    `--data-dir=${path.join(data, "etcd")}`,
    `--listen-client-urls=${urls[0]}`,
    `--advertise-client-urls=${urls[0]}`,
    `--listen-peer-urls=${urls[1]}`,
    `--initial-advertise-peer-urls=${urls[1]}`,
    `--initial-cluster=default=${urls[1]}`,
  ];
  const etcd = spawn("etcd", args, { stdio: "ignore" });
  const exited = once(etcd, "exit");
  try {
    await Promise.race([listening(client), exited.then(() => failed("etcd"))]);
    await trainOn(root, data, [`--etcd-servers=${urls[0]}`]);
  } finally {
    etcd.kill("SIGTERM");
    await exited;
  }
}

async function freePorts(count) {
  const servers = Array.from({ length: count }, () => createServer().listen(0, "127.0.0.1"));
  await Promise.all(servers.map((server) => once(server, "listening")));
  const ports = servers.map((server) => server.address().port);
  await Promise.all(servers.map((server) => once(server.close(), "close")));
  return ports;
}

async function listening(port) {
  for (;;) {
    const socket = connectSocket(port, "127.0.0.1");
    try {
      await once(socket, "connect");
      return;
    } catch {
      await sleep(50);
    } finally {
      socket.destroy();
    }
  }
}

function failed(program) {
  throw new Error(`keelson: ${program} exited before it was ready`);
}

async function trainOn(root, data, storage) {
  const args = [
    "dist/keelson.js",
    "apiserver",
    "--bind-address=127.0.0.1",
    ...storage,
    "--secure-port=0",
    `--cert-dir=${data}`,
  ];
  const server = spawn(process.execPath, args, { cwd: root, stdio: ["ignore", "ignore", "pipe"] });
  const exited = once(server, "exit");
  try {
    const url = await Promise.race([
      readyUrl(server.stderr),
      exited.then(() => failed("the server")),
    ]);
    const pki = (name) => readFileSync(path.join(data, name), "utf8");
    const authorization = `Bearer ${pki("admin.token").trim()}`;
    const session = connect(url, { ca: pki("ca.crt") });
    const send = (method, path, body, type = "application/json") => {
      const headers = { ":method": method, ":path": path, authorization, "content-type": type };
      return request(session, headers, body);
    };
    const watch = send("GET", `${deployments}?watch=1&timeoutSeconds=1`);
    for (let round = 0; round < rounds; round++) await sendAll(send, round);
    await watch;
    session.destroy();
  } finally {
    server.kill("SIGTERM");
    await exited;
  }
}

async function readyUrl(stream) {
  let text = "";
  for await (const data of stream) {
    text += data;
    const match = /ready on (https:\S+)/.exec(text);
    if (match) return match[1];
  }
  throw new Error(text);
}

/** Sends the discovery requests of kubectl, and requests of all verbs. */
async function sendAll(send, round) {
  const name = `trained-${round}`;
  const labels = { app: name };
  const containers = [{ name: "web", image: "nginx" }];
  const template = { metadata: { labels }, spec: { containers } };
  const spec = { replicas: 1, selector: { matchLabels: labels }, template };
  const deployment = { apiVersion: "apps/v1", kind: "Deployment", metadata: { name }, spec };
  const object = `${deployments}/${name}`;
  for (const url of ["/version", "/api", "/apis", "/apis/apps/v1", "/openapi/v3/apis/apps/v1"]) {
    await send("GET", url);
  }
  await send("POST", deployments, deployment);
  const stored = JSON.parse(await send("GET", object));
  await send("PATCH", object, { metadata: { labels } }, "application/merge-patch+json");
  await send("PATCH", object, { spec: { template } }, "application/strategic-merge-patch+json");
  const applied = { ...deployment, metadata: { name, labels: { round: String(round) } } };
  await send(
    "PATCH",
    `${object}?fieldManager=trainer&force=true`,
    applied,
    "application/apply-patch+yaml",
  );
  for (const query of ["", "?limit=1", "?labelSelector=app"]) {
    await send("GET", deployments + query);
  }
  const configMaps = "/api/v1/namespaces/default/configmaps";
  await send("POST", configMaps, { metadata: { name }, data: { name } });
  await send("PUT", `${configMaps}/${name}`, { metadata: { name }, data: { name, round: "next" } });
  await send(
    "PATCH",
    `${configMaps}/${name}`,
    { data: { a: "b" } },
    "application/merge-patch+json",
  );
  await send("GET", configMaps);
  await send("DELETE", `${configMaps}/${name}`);
  if (stored.metadata?.name !== name) throw new Error(`keelson: ${JSON.stringify(stored)}`);
  await send("DELETE", object);
}

async function request(session, headers, body) {
  const stream = session.request(headers);
  stream.setEncoding("utf8");
  stream.end(body === undefined ? undefined : JSON.stringify(body));
  let text = "";
  for await (const data of stream) text += data;
  return text;
}
