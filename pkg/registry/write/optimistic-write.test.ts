import assert from "node:assert/strict";
import { seededRandom } from "#base";
import { type Entry, memoryBackend, objectStore, type ObjectStore } from "#storage";
import { refusal, testRegistry, type TestRegistry } from "../testing.ts";

const maps = "v1/configmaps/ns";
const key = "/configmaps/ns/a";

/** Two replicas over one backend; the cache of `writer` stays as it was when `freeze` was called. */
class Replicas {
  readonly known = new Map<string, { readonly entry: Entry | undefined }>();
  /** Reads and writes of the object by `writer`. */
  calls: string[] = [];
  writer!: TestRegistry;
  other!: TestRegistry;

  static async start(): Promise<Replicas> {
    const replicas = new Replicas();
    const backend = memoryBackend();
    const open = (): ObjectStore => objectStore(backend, { root: "/registry" });
    const store = replicas.#counted(open());
    replicas.writer = await testRegistry({ store, seed: 1 });
    replicas.other = await testRegistry({ store: open(), namespaces: [], seed: 2 });
    return replicas;
  }

  async freeze(): Promise<void> {
    const { entry } = await this.other.store.get(key);
    this.known.set(key, { entry: entry && { ...entry, derived: undefined } });
    this.calls = [];
  }

  #counted(store: ObjectStore): ObjectStore {
    const note = (verb: string, of: string): void => {
      if (of === key) this.calls.push(verb);
    };
    const counted: Partial<ObjectStore> = {
      known: (of) => this.known.get(of),
      get: (of, options) => {
        note("get", of);
        return store.get(of, options);
      },
      create: (of, ...rest) => {
        note("create", of);
        return store.create(of, ...rest);
      },
      update: (of, ...rest) => {
        note("update", of);
        return store.update(of, ...rest);
      },
      delete: (of, expected, options) => {
        note("delete", of);
        return store.delete(of, expected, options);
      },
    };
    return Object.assign(Object.create(store), counted);
  }
}

describe("optimistic writes from the cached version", () => {
  let replicas: Replicas;
  let writer: TestRegistry;
  let other: TestRegistry;
  beforeEach(async () => {
    replicas = await Replicas.start();
    ({ writer, other } = replicas);
    await other.post(maps, { metadata: { name: "a" }, data: { color: "red" } });
    await replicas.freeze();
  });
  const stored = async () => (await other.get(`${maps}/a`)).object;

  it("do not read the object", async () => {
    await writer.patch(`${maps}/a`, { data: { size: "1" } });
    assert.deepEqual(replicas.calls, ["update"]);
    await replicas.freeze();
    await writer.remove(`${maps}/a`);
    assert.deepEqual(replicas.calls, ["delete"]);
  });

  it("apply to the newer version of another replica", async () => {
    await other.patch(`${maps}/a`, { data: { color: "blue" } });
    await writer.patch(`${maps}/a`, { data: { size: "1" } });
    assert.deepEqual((await stored()).data, { color: "blue", size: "1" });
  });

  it("are stored even if they change nothing in an outdated cached version", async () => {
    await other.patch(`${maps}/a`, { data: { color: "blue" } });
    await writer.patch(`${maps}/a`, { data: { color: "red" } });
    assert.deepEqual((await stored()).data, { color: "red" });
  });

  it("confirm a write that changes nothing by a read", async () => {
    const { item } = await writer.patch(`${maps}/a`, { data: { color: "red" } });
    assert.deepEqual(replicas.calls, ["get"]);
    assert.equal(item.revision, (await other.get(`${maps}/a`)).revision);
  });

  it("check resourceVersion against the newest version", async () => {
    const { item } = await other.patch(`${maps}/a`, { data: { color: "blue" } });
    const resourceVersion = String(item.revision);
    const data = { color: "green" };
    await writer.put(`${maps}/a`, { metadata: { name: "a", resourceVersion }, data });
    assert.deepEqual((await stored()).data, data);
    const conflict = () =>
      writer.put(`${maps}/a`, { metadata: { name: "a", resourceVersion }, data: {} });
    assert.match(await refusal(conflict), /^409 Conflict/);
  });

  it("return 404 for an object that another replica deleted", async () => {
    await other.remove(`${maps}/a`);
    for (const write of [
      () => writer.patch(`${maps}/a`, { data: { size: "1" } }),
      () => writer.patch(`${maps}/a`, { data: { color: "red" } }),
      () => writer.remove(`${maps}/a`),
    ]) {
      assert.match(await refusal(write), /^404 NotFound/);
    }
  });

  describe("of an object that is not cached", () => {
    const options = { patchType: "apply", fieldManager: "m" } as const;
    const typeMeta = { apiVersion: "v1", kind: "ConfigMap" };
    const configuration = { ...typeMeta, metadata: { name: "a" }, data: { size: "1" } };
    beforeEach(async () => {
      await other.remove(`${maps}/a`);
      await replicas.freeze();
    });

    it("create it without a read", async () => {
      await writer.patch(`${maps}/a`, configuration, options);
      assert.deepEqual(replicas.calls, ["create"]);
      assert.deepEqual((await stored()).data, { size: "1" });
    });

    it("apply to the object that another replica created", async () => {
      await other.post(maps, { metadata: { name: "a" }, data: { color: "red" } });
      await writer.patch(`${maps}/a`, configuration, options);
      assert.deepEqual((await stored()).data, { color: "red", size: "1" });
      await writer.patch(`${maps}/a`, { data: { color: "blue" } });
      assert.deepEqual((await stored()).data, { color: "blue", size: "1" });
      await writer.remove(`${maps}/a`);
      assert.match(await refusal(stored), /^404 NotFound/);
    });

    it("return 404 after a read", async () => {
      assert.match(await refusal(() => writer.patch(`${maps}/a`, {})), /^404 NotFound/);
      assert.deepEqual(replicas.calls, ["get"]);
    });
  });

  it("do not delete an object that was recreated with another uid", async () => {
    const { uid } = (await stored()).metadata;
    await other.remove(`${maps}/a`);
    await other.post(maps, { metadata: { name: "a" } });
    const preconditions = { uid };
    const removal = () => writer.remove(`${maps}/a`, { preconditions });
    assert.match(await refusal(removal), /^409 Conflict/);
    assert.notEqual((await stored()).metadata.uid, uid);
  });

  it("are validated against the newest version before they are rejected", async () => {
    const immutable = { metadata: { name: "a" }, data: { color: "red" }, immutable: true };
    await writer.put(`${maps}/a`, immutable);
    await replicas.freeze();
    await other.remove(`${maps}/a`);
    await other.post(maps, { metadata: { name: "a" } });
    await writer.patch(`${maps}/a`, { data: { color: "blue" } });
    assert.deepEqual((await stored()).data, { color: "blue" });
  });

  it("lose no update, however outdated the cache is", async () => {
    const random = seededRandom(7);
    const expected: Record<string, string> = { color: "red" };
    for (let n = 0; n < 300; n++) {
      const writes = random.pick([writer, other]);
      const name = `key-${random.below(5)}`;
      const value = String(random.below(3));
      expected[name] = value;
      const apply = random.next() < 0.3;
      if (apply) {
        const body = { apiVersion: "v1", kind: "ConfigMap", data: { [name]: value } };
        const options = { patchType: "apply", fieldManager: name, force: true } as const;
        await writes.patch(`${maps}/a`, body, options);
      } else await writes.patch(`${maps}/a`, { data: { [name]: value } });
      assert.deepEqual((await stored()).data, expected);
      if (random.next() < 0.3) await replicas.freeze();
    }
  });
});
