/** Many writers on one object through three replicas of one etcd: no update is lost. */
import assert from "node:assert/strict";
import { type RunningServer, startServer } from "../../../cmd/keelson/index.ts";
import { type EtcdCluster, startEtcd } from "../../../pkg/storage/etcd/testing.ts";

const configMaps = "/api/v1/namespaces/default/configmaps";
const writers = 200;

describe("200 writers through three replicas", function () {
  let etcd: EtcdCluster;
  const replicas: RunningServer[] = [];

  before(async () => {
    etcd = await startEtcd();
    const storage = { kind: "etcd", endpoints: etcd.endpoints } as const;
    // All three start at once on an empty store.
    const starting = [1, 2, 3].map(() => startServer({ storage, controllers: false }));
    replicas.push(...(await Promise.all(starting)));
  });
  after(async () => {
    await Promise.all(replicas.map((server) => server.close()));
    await etcd?.[Symbol.asyncDispose]();
  });

  async function send(n: number, method: string, path: string, body?: object) {
    const server = replicas[n % replicas.length] as RunningServer;
    const patch = path.includes("fieldManager=") ? "apply-patch+yaml" : "merge-patch+json";
    const type = method === "PATCH" ? patch : "json";
    const headers = { "content-type": `application/${type}` };
    const init = { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) };
    const answer = await server.fetch(path, init);
    return { status: answer.status, body: (await answer.json()) as any };
  }

  it("replaces with a resourceVersion lose no increment", async () => {
    const object = { metadata: { name: "counter" }, data: { count: "0" } };
    await send(0, "POST", configMaps, { apiVersion: "v1", kind: "ConfigMap", ...object });
    let conflicts = 0;
    const increment = async (n: number) => {
      for (;;) {
        const { body } = await send(n, "GET", `${configMaps}/counter`);
        body.data.count = String(Number(body.data.count) + 1);
        const written = await send(n, "PUT", `${configMaps}/counter`, body);
        if (written.status === 200) return;
        assert.equal(written.status, 409, JSON.stringify(written.body));
        conflicts++;
        await backoff();
      }
    };
    await Promise.all(Array.from({ length: writers }, (_, n) => increment(n)));
    const { body } = await send(0, "GET", `${configMaps}/counter`);
    assert.equal(body.data.count, String(writers));
    assert.ok(conflicts > 0, "the writers never met");
  });

  it("merge patches of one key each lose no key", async () => {
    const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "keys" } };
    await send(0, "POST", configMaps, object);
    const patch = async (n: number) => {
      for (;;) {
        const body = { data: { [`key-${n}`]: String(n) } };
        const written = await send(n, "PATCH", `${configMaps}/keys`, body);
        if (written.status === 200) return;
        assert.equal(written.status, 409, JSON.stringify(written.body));
        await backoff();
      }
    };
    await Promise.all(Array.from({ length: writers }, (_, n) => patch(n)));
    const { body } = await send(1, "GET", `${configMaps}/keys`);
    assert.equal(Object.keys(body.data).length, writers);
  });

  it("applies of disjoint managers do not conflict, and each manages its field", async () => {
    const apply = async (n: number) => {
      const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "shared" } };
      const body = { ...object, data: { [`key-${n}`]: String(n) } };
      const path = `${configMaps}/shared?fieldManager=manager-${n}`;
      const written = await send(n, "PATCH", path, body);
      assert.ok(written.status < 300, JSON.stringify(written.body));
    };
    const everyone = Array.from({ length: writers }, (_, n) => n);
    await Promise.all(everyone.map(apply));
    const { body } = await send(1, "GET", `${configMaps}/shared`);
    assert.equal(Object.keys(body.data).length, writers);
    const owners = body.metadata.managedFields.map(({ manager, fieldsV1 }: any) => {
      return [manager, ...Object.keys(fieldsV1["f:data"]).filter((name) => name !== ".")].join(" ");
    });
    const wanted = everyone.map((n) => `manager-${n} f:key-${n}`);
    assert.deepEqual(owners.sort(), wanted.sort());
    // Applying the same configuration again writes nothing.
    await Promise.all(everyone.slice(0, 30).map(apply));
    const { body: after } = await send(2, "GET", `${configMaps}/shared`);
    assert.equal(after.metadata.resourceVersion, body.metadata.resourceVersion);
  });

  it("deletions with a uid precondition spare a recreated object of the same name", async () => {
    const path = `${configMaps}/reborn`;
    const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "reborn" } };
    let { body: current } = await send(0, "POST", configMaps, object);
    for (let round = 0; round < 10; round++) {
      const { uid } = current.metadata;
      // All deletes have the uid of this object, which is deleted and recreated meanwhile.
      const pinned = { preconditions: { uid } };
      const stale = Array.from({ length: 10 }, (_, n) => send(n, "DELETE", path, pinned));
      const recreated = await recreate(path, object);
      const codes = (await Promise.all(stale)).map(({ status }) => status);
      assert.ok(codes.filter((code) => code === 200).length <= 1, codes.join(" "));
      assert.ok(
        codes.every((code) => [200, 404, 409].includes(code)),
        codes.join(" "),
      );
      const { body: standing } = await send(round, "GET", path);
      assert.equal(standing.metadata?.uid, recreated.metadata.uid, `round ${round}`);
      current = recreated;
    }
  });

  /** Deletes the object and creates another one; retries conflicts without a limit. */
  async function recreate(path: string, object: object): Promise<any> {
    for (;;) {
      await send(1, "DELETE", path);
      const { status, body } = await send(2, "POST", configMaps, object);
      if (status === 201) return body;
      assert.equal(status, 409, JSON.stringify(body));
    }
  }

  it("deletecollection under load deletes all objects that existed before", async () => {
    const labels = { batch: "old" };
    const create = (name: string, metadata: object) =>
      send(name.length, "POST", configMaps, {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name, ...metadata },
      });
    await Promise.all(Array.from({ length: 60 }, (_, n) => create(`old-${n}`, { labels })));
    const done = new AbortController();
    const load = async (writer: number) => {
      for (let n = 0; !done.signal.aborted; n++) {
        const name = `old-${(writer * 20 + n) % 60}-young-${n}`;
        assert.equal((await create(name, {})).status, 201);
        // Some of these objects are changed or deleted concurrently.
        const changed = await send(n, "PATCH", `${configMaps}/old-${n % 60}`, {
          data: { n: `${n}` },
        });
        assert.ok([200, 404].includes(changed.status), JSON.stringify(changed.body));
      }
    };
    const writing = [0, 1, 2].map(load);
    let token = "";
    let pages = 0;
    do {
      const query = `labelSelector=batch%3Dold&limit=7&continue=${encodeURIComponent(token)}`;
      const { status, body } = await send(pages++, "DELETE", `${configMaps}?${query}`);
      assert.equal(status, 200, JSON.stringify(body));
      token = body.metadata.continue ?? "";
    } while (token !== "");
    done.abort();
    await Promise.all(writing);
    assert.ok(pages > 5, `${pages} pages`);
    const { body } = await send(0, "GET", configMaps);
    const left = body.items.map(({ metadata }: any) => metadata.name);
    assert.deepEqual(
      left.filter((name: string) => /^old-\d+$/.test(name)),
      [],
    );
    assert.ok(left.some((name: string) => name.includes("young")));
  });

  it("no object outlives its namespace, whichever replica created it", async () => {
    const namespace = "doomed";
    const inside = `/api/v1/namespaces/${namespace}/configmaps`;
    const typeMeta = { apiVersion: "v1", kind: "Namespace" };
    await send(0, "POST", "/api/v1/namespaces", { ...typeMeta, metadata: { name: namespace } });
    const create = (n: number) =>
      send(n, "POST", inside, {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: `late-${n}` },
      });
    // Every replica has cached the namespace as active.
    for (const n of [0, 1, 2]) assert.equal((await create(n)).status, 201);
    await send(0, "DELETE", `/api/v1/namespaces/${namespace}`);
    assert.equal((await create(3)).status, 403, "the replica that was asked to delete it");
    // Other replicas may cache it for a second; the namespace controller deletes what they create.
    const refusedBy = new Set<number>();
    for (let n = 4; refusedBy.size < 3; n++) {
      const { status, body } = await create(n);
      if (status === 403) refusedBy.add(n % 3);
      else assert.equal(status, 201, JSON.stringify(body));
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    const { body } = await send(1, "DELETE", inside);
    assert.ok(body.items.length >= 3);
    assert.deepEqual((await send(2, "GET", inside)).body.items, []);
  });

  it("of concurrent creates of one name exactly one succeeds", async () => {
    const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "one" } };
    const attempts = Array.from({ length: 60 }, (_, n) => send(n, "POST", configMaps, object));
    const codes = (await Promise.all(attempts)).map(({ status }) => status);
    assert.equal(codes.filter((code) => code === 201).length, 1);
    assert.equal(codes.filter((code) => code === 409).length, 59);
  });
});

/** A random delay before a retry after a conflict, as clients have. */
function backoff(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.random() * 500));
}
