import assert from "node:assert/strict";
import { VirtualClock } from "#base";
import { type RunningServer, startServer, type StartOptions } from "../index.ts";

const collections = [
  "/api/v1/namespaces/kube-system/configmaps",
  "/api/v1/namespaces",
  "/apis/apiregistration.k8s.io/v1/apiservices",
  "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas",
  "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations",
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
    const fields = managedFields.filter((each: any) => each.subresource === undefined);
    return { ...object, metadata: { ...metadata, managedFields: fields } };
  });
  const text = JSON.stringify(created, (key, value) => (identity.includes(key) ? "" : value));
  return JSON.parse(text);
}

describe("bootstrap objects of later servers of a process", () => {
  const running: RunningServer[] = [];
  const start = async (options: StartOptions = {}) => {
    const server = await startServer({ controllers: false, ...options });
    running.push(server);
    return server;
  };
  afterEach(async () => {
    await Promise.all(running.splice(0).map((server) => server.close()));
  });

  before(async () => {
    // Those that are not copied.
    await start();
    await start();
  });

  it("are those that a server creates one by one, with other uids", async () => {
    // Options that are not the default ones, and mean the same.
    const created = await stored(await start({ storageMediaType: "json" }));
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
    assert.deepEqual(await cells({}), await cells({ storageMediaType: "json" }));
  });

  it("have the time of the server's clock", async () => {
    const time = "2030-01-02T03:04:05Z";
    const later = await start({ clock: new VirtualClock({ start: time }) });
    for (const { metadata, data } of await stored(later)) {
      if (data?.since !== undefined) assert.equal(data.since, "2030-01-02");
      const times = metadata.managedFields.map((each: any) => each.time);
      assert.deepEqual(new Set([metadata.creationTimestamp, ...times]), new Set([time]));
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
