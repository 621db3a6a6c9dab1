/** A server in virtual time, with all controllers, the scheduler and simulated nodes. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { get } from "node:https";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import {
  type RunningServer,
  startServer,
  type StartOptions,
  VirtualClock,
} from "../../../cmd/keelson/index.ts";
import {
  VirtualCluster as Cluster,
  condition,
  type Json,
  second,
  start,
} from "./virtual-cluster.ts";

const minute = 60 * second;
const hour = 60 * minute;

const jobs = "/apis/batch/v1/namespaces/default/jobs";
const deployments = "/apis/apps/v1/namespaces/default/deployments";
const configMaps = "/api/v1/namespaces/default/configmaps";
const pods = "/api/v1/namespaces/default/pods";

const oneNode = { nodes: { count: 1 } };

function podSpec(annotations: Readonly<Record<string, string>> = {}) {
  const simulated = Object.entries(annotations).map(([name, value]) => [
    `simulated.keelson.dev/${name}`,
    value,
  ]);
  const containers = [{ name: "main", image: "registry.example/main" }];
  return { metadata: { annotations: Object.fromEntries(simulated) }, spec: { containers } };
}

function jobOf(name: string, spec: object, annotations?: Readonly<Record<string, string>>) {
  const template = podSpec(annotations);
  const never = { ...template, spec: { ...template.spec, restartPolicy: "Never" } };
  return { metadata: { name }, spec: { ...spec, template: never } };
}

describe("virtual time", () => {
  const running: RunningServer[] = [];
  const startCluster = async (options?: StartOptions) => {
    const cluster = await Cluster.start(options);
    running.push(cluster.server);
    return cluster;
  };
  afterEach(async () => {
    await Promise.all(running.splice(0).map((server) => server.close()));
  });

  it("does not advance, also in timestamps, until the test advances it", async () => {
    const { server, clock } = await startCluster({ nodes: { count: 0 } });
    const create = async (name: string) => {
      const headers = { "content-type": "application/json" };
      const body = JSON.stringify({ metadata: { name }, data: { sky: "blue" } });
      const answer = await server.fetch(`${configMaps}?fieldManager=test`, {
        method: "POST",
        headers,
        body,
      });
      const { metadata } = (await answer.json()) as Json;
      return [metadata.creationTimestamp, metadata.managedFields[0].time];
    };
    assert.deepEqual(await create("a"), ["2030-01-01T00:00:01Z", "2030-01-01T00:00:01Z"]);
    assert.deepEqual(await create("b"), ["2030-01-01T00:00:01Z", "2030-01-01T00:00:01Z"]);
    await clock.advanceTo("2030-01-01T00:20:00Z");
    assert.deepEqual(await create("c"), ["2030-01-01T00:20:00Z", "2030-01-01T00:20:00Z"]);
    await assert.rejects(clock.advanceTo(start), /time cannot move from 2030-01-01T00:20/);
  });

  it("ends a Job at its activeDeadlineSeconds, and deletes it after its TTL", async () => {
    const cluster = await startCluster(oneNode);
    const spec = { activeDeadlineSeconds: 600, ttlSecondsAfterFinished: 3_600 };
    await cluster.create(jobs, jobOf("slow", spec, { "exit-after": "2h" }));
    await cluster.clock.advance(599 * second);
    assert.equal(condition(await cluster.get(`${jobs}/slow`), "Failed"), undefined);
    await cluster.clock.advance(second);
    const ended = await cluster.when(`${jobs}/slow`, (job) => condition(job, "Failed"), 60);
    const { reason, lastTransitionTime } = condition(await cluster.get(`${jobs}/slow`), "Failed");
    assert.equal(reason, "DeadlineExceeded");
    assert.equal(Date.parse(lastTransitionTime), Date.parse(start) + ended * second);
    await cluster.clock.advance(3_599 * second);
    assert.equal((await cluster.get(`${jobs}/slow`)).kind, "Job");
    const isGone = ({ code }: Json) => code === 404;
    assert.ok((await cluster.when(`${jobs}/slow`, isGone, 10)) - ended >= 3_600);
  });

  it("marks a silent node NotReady after 50 s and evicts its pods 300 s later", async () => {
    const cluster = await startCluster();
    const spec = { replicas: 1, selector: { matchLabels: { app: "web" } } };
    const template = podSpec();
    const labelled = { ...template, metadata: { labels: { app: "web" } } };
    const metadata = { name: "web" };
    await cluster.create(deployments, { metadata, spec: { ...spec, template: labelled } });
    await cluster.clock.advance(5 * second);
    const [first] = (await cluster.get(pods)).items;
    assert.equal(first.status.phase, "Running");
    const node = `/api/v1/nodes/${first.spec.nodeName}`;
    const annotations = { "simulated.keelson.dev/failure": "silent" };
    await cluster.request("PATCH", node, { metadata: { annotations } });
    const silentAt = cluster.seconds;
    const isUnknown = (found: Json) => condition(found, "Ready").status === "Unknown";
    const unknownAt = await cluster.when(node, isUnknown, 120);
    assert.ok(unknownAt - silentAt >= 40 && unknownAt - silentAt <= 60, `${unknownAt}`);
    const place = `${pods}/${first.metadata.name}`;
    await cluster.clock.advance(295 * second);
    assert.equal((await cluster.get(place)).metadata.deletionTimestamp, undefined);
    const isEvicted = (pod: Json) => pod.metadata?.deletionTimestamp;
    const evictedAt = await cluster.when(place, isEvicted, 20);
    assert.ok(evictedAt - unknownAt >= 300, `${evictedAt} ${unknownAt}`);
    await cluster.clock.advance(10 * second);
    const { items } = await cluster.get(pods);
    const others = items.filter(({ spec: { nodeName } }: Json) => nodeName !== first.spec.nodeName);
    assert.deepEqual(
      others.map(({ status: { phase } }: Json) => phase),
      ["Running"],
    );
  });

  it("skips months in which only heartbeats happen", async () => {
    const cluster = await startCluster(oneNode);
    const { clock } = cluster;
    const lease = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/hollow-0";
    const node = "/api/v1/nodes/hollow-0";
    const readyOf = async () => condition(await cluster.get(node), "Ready");
    const before = await readyOf();
    await clock.advanceTo("2031-06-01T00:00:00Z");
    assert.equal((await cluster.get(lease)).spec.renewTime, "2031-06-01T00:00:00.000000Z");
    const { status, lastTransitionTime } = await readyOf();
    assert.deepEqual([status, lastTransitionTime], ["True", before.lastTransitionTime]);
    const annotations = { "simulated.keelson.dev/failure": "silent" };
    await cluster.request("PATCH", node, { metadata: { annotations } });
    await clock.advance(45 * second);
    assert.equal((await readyOf()).status, "True");
    await clock.advance(hour);
    const unknown = await readyOf();
    const late = Date.parse(unknown.lastTransitionTime) - Date.parse("2031-06-01T00:00:50Z");
    assert.ok(unknown.status === "Unknown" && late >= 0 && late <= 6_000, JSON.stringify(unknown));
  });

  it("reports a Deployment without progress after progressDeadlineSeconds", async () => {
    const cluster = await startCluster();
    const selector = { matchLabels: { app: "stuck" } };
    const template = podSpec({ "never-start": "true" });
    const labels = { app: "stuck" };
    const labelled = { ...template, metadata: { ...template.metadata, labels } };
    const spec = { replicas: 1, progressDeadlineSeconds: 120, selector, template: labelled };
    await cluster.create(deployments, { metadata: { name: "stuck" }, spec });
    await cluster.clock.advance(118 * second);
    const progressing = async () =>
      condition(await cluster.get(`${deployments}/stuck`), "Progressing");
    assert.equal((await progressing()).status, "True");
    await cluster.clock.advance(5 * second);
    const { status, reason } = await progressing();
    assert.deepEqual([status, reason], ["False", "ProgressDeadlineExceeded"]);
  });

  it("expires Events and service account tokens", async () => {
    const cluster = await startCluster(oneNode);
    await cluster.create(jobs, jobOf("quick", {}));
    await cluster.clock.advance(10 * second);
    const events = async (): Promise<number> => {
      const { items } = await cluster.get("/api/v1/namespaces/default/events");
      return items.filter(({ involvedObject: { kind } }: Json) => kind === "Job").length;
    };
    assert.ok((await events()) > 0);
    const account = "/api/v1/namespaces/default/serviceaccounts/default/token";
    const request = { spec: { expirationSeconds: 3_600 } };
    const { status } = await cluster.create(account, request);
    const asAccount = async () => {
      const headers = { authorization: `Bearer ${status.token}` };
      return (await cluster.server.fetch("/api/v1/namespaces", { headers })).status;
    };
    assert.equal(await asAccount(), 403, "known, but without permissions");
    await cluster.clock.advance(hour + minute);
    assert.equal(await events(), 0);
    assert.equal(await asAccount(), 401);
  });

  it("does not end the watches of clients, which are served in real time", async () => {
    const directory = mkdtempSync(path.join(tmpdir(), "keelson-virtual-time-"));
    const port = { port: 0, certificateDirectory: directory };
    const cluster = await startCluster({ ...port, ...oneNode });
    const { token, url } = cluster.server;
    const ca = readFileSync(path.join(directory, "ca.crt"));
    const headers = { authorization: `Bearer ${token}` };
    const seen: string[] = [];
    let ended = false;
    let stop = () => {};
    get(`${url}${jobs}?watch=true`, { ca, headers }, (response) => {
      createInterface(response).on("line", (line) => seen.push(JSON.parse(line).type));
      response.on("end", () => (ended = true));
      stop = () => void response.destroy();
    });
    await cluster.create(jobs, jobOf("seen", { ttlSecondsAfterFinished: hour / second }));
    await cluster.clock.advance(2 * hour);
    while (seen.at(-1) !== "DELETED") await new Promise((resolve) => setImmediate(resolve));
    assert.equal(seen[0], "ADDED");
    assert.equal(ended, false);
    stop();
    rmSync(directory, { recursive: true, force: true });
  });

  it("is separate for each server of a process", async () => {
    const options = oneNode;
    const [one, other] = [await startCluster(options), await startCluster(options)];
    const spec = { activeDeadlineSeconds: 60 };
    await one.create(jobs, jobOf("slow", spec, { "exit-after": "2h" }));
    await other.create(jobs, jobOf("slow", spec, { "exit-after": "2h" }));
    await Promise.all([one.clock.advance(hour), other.clock.advance(30 * second)]);
    assert.equal(one.seconds, 3_601);
    assert.equal(other.seconds, 31);
    assert.ok(condition(await one.get(`${jobs}/slow`), "Failed"));
    assert.equal(condition(await other.get(`${jobs}/slow`), "Failed"), undefined);
  });

  it("works with the embedded store, and is rejected with etcd", async () => {
    const directory = mkdtempSync(path.join(tmpdir(), "keelson-virtual-time-"));
    const cluster = await startCluster({ storage: { kind: "embedded", directory } });
    await cluster.create(jobs, jobOf("quick", {}));
    await cluster.clock.advance(minute);
    const { status } = await cluster.get(`${jobs}/quick`);
    assert.equal(status.completionTime, "2030-01-01T00:00:03Z");
    await Promise.all(running.splice(0).map((server) => server.close()));
    rmSync(directory, { recursive: true, force: true });
    const storage = { kind: "etcd", endpoints: ["http://127.0.0.1:1"] } as const;
    await assert.rejects(
      startServer({ clock: new VirtualClock(), storage }),
      /a VirtualClock needs an embedded store/,
    );
  });
});
