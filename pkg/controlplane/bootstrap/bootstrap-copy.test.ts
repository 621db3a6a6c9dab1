import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { builtinKinds } from "#api";
import { deepEqual, systemClock, VirtualClock } from "#base";
import { kubernetes, resolve } from "#meta";
import { fromJson, parseJson } from "#schema";
import { type Backend, openDurableBackend } from "#storage";
import { startEtcd } from "../../storage/etcd/testing.ts";
import { type RunningServer, startServer, type StartOptions } from "../index.ts";
import { decodedForm } from "./bootstrap-copy.ts";
import { type StoredObject, storedObjects } from "./stored-objects.ts";

const collections = [
  "/api/v1/namespaces/kube-system/configmaps",
  "/api/v1/namespaces",
  "/api/v1/services",
  "/apis/apiregistration.k8s.io/v1/apiservices",
  "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas",
  "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations",
  "/apis/networking.k8s.io/v1/ipaddresses",
  "/apis/networking.k8s.io/v1/servicecidrs",
  "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
  "/apis/rbac.authorization.k8s.io/v1/clusterroles",
  "/apis/rbac.authorization.k8s.io/v1/rolebindings",
  "/apis/rbac.authorization.k8s.io/v1/roles",
  "/apis/scheduling.k8s.io/v1/priorityclasses",
];
/** What differs between two servers. */
const identity = ["uid", "creationTimestamp", "time", "resourceVersion"];

async function stored(server: RunningServer): Promise<any[]> {
  const lists = collections.map(async (url): Promise<any> => (await server.fetch(url)).json());
  return (await Promise.all(lists)).flatMap(({ items }) => items);
}

/** Without statuses, which the server sets later, and what differs. */
function asCreated(objects: readonly any[]): unknown {
  const created = objects.map(({ status: _status, ...object }) => {
    const { managedFields, ...metadata } = object.metadata;
    const fields = managedFields?.filter((each: any) => each.subresource === undefined);
    return { ...object, metadata: { ...metadata, managedFields: fields } };
  });
  const text = JSON.stringify(created, (key, value) => (identity.includes(key) ? "" : value));
  return JSON.parse(text);
}

/** A store that is not empty, in which a server creates its bootstrap objects one by one. */
const notEmpty = { key: "/registry/other", value: Buffer.from("{}") };

/** Calls `work` with the store of a server that created its bootstrap objects one by one. */
async function withCreated<T>(work: (backend: Backend) => Promise<T>): Promise<T> {
  const directory = mkdtempSync(path.join(tmpdir(), "keelson-bootstrap-"));
  const open = () => openDurableBackend({ directory, clock: systemClock });
  try {
    {
      await using backend = await open();
      const { key, value } = notEmpty;
      await backend.txn({ compare: [], then: [{ put: key, value }], otherwise: [] });
    }
    const storage = { kind: "embedded", directory } as const;
    const server = await startServer({ controllers: false, storage });
    await server.close();
    await using backend = await open();
    return await work(backend);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** As they were created; the default ServiceCIDR with the status that it has then got. */
async function createdObjects(backend: Backend): Promise<readonly StoredObject[]> {
  const { entries } = await backend.range({ from: "/registry/", to: "/registry0" });
  const found: StoredObject[] = [];
  for (const { key, value, createRevision } of entries) {
    const isLater = key.startsWith("/registry/configmaps/kube-system/extension");
    if (key === notEmpty.key || isLater) continue;
    const isServiceCidr = key.startsWith("/registry/servicecidrs/");
    const created = isServiceCidr
      ? undefined
      : await backend.get(key, { revision: createRevision });
    const text = Buffer.from(created?.entry?.value ?? value)
      .toString()
      .replace(/(?<="uid":")[^"]+/, "$$uid")
      .replace(/(?<=")\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ(?=")/g, "$$time")
      .replace(/(?<=")\d{4}-\d\d-\d\d(?=")/g, "$$date")
      .replace(/(?<="targetPort":)6443/, "$$port");
    found.push({ key: key.slice("/registry".length), text });
  }
  return found.sort((one, other) => (one.key < other.key ? -1 : 1));
}

/** An object per line. */
function printed(objects: readonly StoredObject[]): string {
  return `[\n${objects.map((each) => JSON.stringify(each)).join(",\n")}\n]\n`;
}

/** Options that are not the default ones, with which objects are not copied, and mean the same. */
const sameMeaning: StartOptions = { featureGates: new Map([["WatchList", "true"]]) };

const file = path.join(import.meta.dirname, "stored-objects.json");
const isUpdate = process.env["UPDATE"] === "1";

describe("stored-objects.json", () => {
  it("has what a server creates one by one, byte for byte", async () => {
    const wanted = printed(await withCreated(createdObjects));
    if (isUpdate) writeFileSync(file, wanted);
    const advice = `run UPDATE=1 npx mocha ${path.relative(process.cwd(), import.meta.filename)}`;
    assert.equal(readFileSync(file, "utf8"), wanted, advice);
  });

  it("has objects whose decoded form needs no decoder", () => {
    assert.ok(storedObjects.length > 150, `${storedObjects.length} objects`);
    for (const { key, text: template } of storedObjects) {
      const text = template.replaceAll("$time", "2030-01-02T03:04:05Z").replace("$port", "443");
      const object = JSON.parse(text);
      const kind = builtinKinds.find((each) => each.kind === object.kind);
      const version = kind?.versions.find(({ group = kind.group, version }) => {
        const named = resolve(group, kubernetes);
        return object.apiVersion === (named === "" ? version : `${named}/${version}`);
      });
      assert(version, key);
      const decoded = fromJson(version.struct, parseJson(Buffer.from(text)).value, { root: true });
      const form = decodedForm(text);
      assert.deepEqual(form, decoded, key);
      // That compares no private members.
      assert(deepEqual(form, decoded), key);
    }
  });
});

describe("bootstrap objects in an empty store", () => {
  const running: RunningServer[] = [];
  const start = async (options: StartOptions = {}) => {
    const server = await startServer({ controllers: false, ...options });
    running.push(server);
    return server;
  };
  afterEach(async () => {
    await Promise.all(running.splice(0).map((server) => server.close()));
  });

  it("are those that a server creates one by one, with other uids", async () => {
    const created = await stored(await start(sameMeaning));
    const copied = await stored(await start());
    assert.ok(copied.length > 100, `${copied.length} objects`);
    assert.deepEqual(asCreated(copied), asCreated(created));
    const uids = [...created, ...copied].map(({ metadata }) => metadata.uid);
    assert.equal(new Set(uids).size, uids.length);
  });

  it("are the same when they are printed", async () => {
    const accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
    const url = "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations";
    const cells = async (options: StartOptions) => {
      const answer = await (await start(options)).fetch(url, { headers: { accept } });
      const { rows } = (await answer.json()) as any;
      // All but the age.
      return rows.map((row: any) => row.cells.slice(0, -1));
    };
    assert.deepEqual(await cells({}), await cells(sameMeaning));
  });

  it("have the time of the server's clock", async () => {
    const time = "2030-01-02T03:04:05Z";
    const later = await start({ clock: new VirtualClock({ start: time }) });
    for (const { metadata, data } of await stored(later)) {
      if (data?.since !== undefined) assert.equal(data.since, "2030-01-02");
      const times = (metadata.managedFields ?? []).map((each: any) => each.time);
      assert.deepEqual(new Set([metadata.creationTimestamp, ...times]), new Set([time]));
    }
  });

  it("are complete on etcd if two replicas start at once", async function () {
    if (spawnSync("etcd", ["--version"]).error) this.skip();
    await using etcd = await startEtcd();
    const storage = { kind: "etcd", endpoints: etcd.endpoints } as const;
    const replicas = await Promise.all([start({ storage }), start({ storage })]);
    const alone = await stored(await start());
    const uids = replicas.map(async (replica) => {
      const objects = await stored(replica);
      assert.deepEqual(asCreated(objects), asCreated(alone));
      return objects.map(({ metadata }) => metadata.uid);
    });
    assert.deepEqual(await uids[0], await uids[1]);
    await Promise.all(running.splice(0).map((server) => server.close()));
  });

  it("have the port and the network of the server", async () => {
    const reserved = createServer().listen(0, "127.0.0.1");
    await once(reserved, "listening");
    const { port } = reserved.address() as AddressInfo;
    await new Promise((resolve) => reserved.close(resolve));
    const serviceNetwork = { cidrs: ["10.9.0.0/24"], nodePorts: { first: 30_000, last: 32_767 } };
    for (const options of [{ port }, { port: 0 }, { serviceNetwork }]) {
      const server = await start(options);
      const answer = await server.fetch("/api/v1/namespaces/default/services/kubernetes");
      const { spec } = (await answer.json()) as any;
      const own = server.url === "" ? "6443" : new URL(server.url).port;
      assert.equal(spec.ports[0].targetPort, Number(own));
      assert.equal(spec.clusterIP, "serviceNetwork" in options ? "10.9.0.1" : "10.0.0.1");
    }
  });

  it("follow the options of the server", async () => {
    const server = await start({ labelDomain: "example.org" });
    const annotations = (await stored(server)).flatMap(({ metadata }) =>
      Object.keys(metadata.annotations ?? {}),
    );
    assert.ok(annotations.includes("apf.example.org/autoupdate-spec"), annotations.join(" "));
  });
});
