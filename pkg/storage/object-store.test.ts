import assert from "node:assert/strict";
import { memoryBackend } from "./embedded/index.ts";
import { objectStore } from "./object-store.ts";
import type { Entry } from "./backend.ts";
import type { ObjectStore, WriteOutcome } from "./store.ts";

const bytes = (text: string): Uint8Array => Buffer.from(text);

function entryText(entry: Entry | undefined): string {
  return entry === undefined ? "none" : `${entry.key}=${Buffer.from(entry.value).toString()}`;
}

function outcome(result: WriteOutcome): string {
  return result.done ? `done ${entryText(result.entry)}` : `stands ${entryText(result.current)}`;
}

describe("object store", () => {
  let backend: ReturnType<typeof memoryBackend>;
  let store: ObjectStore;

  beforeEach(() => {
    backend = memoryBackend({});
    store = objectStore(backend, { root: "/registry" });
  });
  afterEach(() => backend[Symbol.asyncDispose]());

  const create = async (key: string, text = "v"): Promise<Entry> => {
    const entry = await store.create(key, bytes(text));
    assert.ok(entry !== undefined);
    return entry;
  };

  it("stores keys below its root, separate from roots with the same prefix", async () => {
    const other = objectStore(backend, { root: "/registry2" });
    await other.create("/configmaps/a/b", bytes("other"));
    const entry = await create("/configmaps/a/b");
    assert.equal(entryText(entry), "/configmaps/a/b=v");
    assert.equal(entryText((await store.get("/configmaps/a/b")).entry), "/configmaps/a/b=v");
    const stored = await backend.get("/registry/configmaps/a/b");
    assert.equal(stored.entry?.modRevision, entry.modRevision);
    assert.equal((await store.list("/configmaps/", {})).entries.length, 1);
  });

  it("creates a key once, and updates and deletes only the expected version", async () => {
    const first = await create("/a/x", "1");
    assert.equal(await store.create("/a/x", bytes("2")), undefined);
    const second = await store.update("/a/x", first.modRevision, bytes("2"));
    assert.equal(outcome(second), "done /a/x=2");
    assert.ok(second.done && second.revision === second.entry.modRevision);
    const stale = await store.update("/a/x", first.modRevision, bytes("3"));
    assert.equal(outcome(stale), "stands /a/x=2");
    assert.equal(outcome(await store.delete("/a/x", first.modRevision)), "stands /a/x=2");
    const gone = await store.delete("/a/x", second.revision);
    assert.equal(outcome(gone), "done /a/x=2");
    assert.ok(gone.done && gone.revision === second.revision + 1);
    assert.equal(gone.entry.modRevision, second.revision);
    assert.equal(outcome(await store.delete("/a/x", second.revision)), "stands none");
    assert.equal(outcome(await store.update("/a/x", second.revision, bytes("4"))), "stands none");
  });

  it("returns the entry object of a write that the cache has", async () => {
    const things = store.collection("/a/");
    await things.filled();
    const cached = async () => (await things.get("/a/x", {})).entry;
    const created = await create("/a/x", "1");
    assert.equal(await cached(), created);
    const updated = await store.update("/a/x", created.modRevision, bytes("2"));
    assert.ok(updated.done);
    assert.equal(await cached(), updated.entry);
    assert.equal(entryText(updated.entry), "/a/x=2");
    assert.equal(updated.entry.createRevision, created.modRevision);
    assert.deepEqual(store.known("/a/x"), { entry: updated.entry });
  });

  it("returns the deleted entry even if the backend does not", async () => {
    const silent = new Proxy(backend, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name);
        if (typeof member !== "function") return member;
        if (name !== "txn") return member.bind(target);
        return async (transaction: Parameters<typeof target.txn>[0]) => {
          const { succeeded, revision, read } = await target.txn(transaction);
          return { succeeded, revision, read };
        };
      },
    });
    const { modRevision } = await create("/a/x", "1");
    const over = objectStore(silent, { root: "/registry" });
    assert.equal(outcome(await over.delete("/a/x", modRevision)), "done /a/x=1");
  });

  it("lists pages at one revision, with the number of remaining keys", async () => {
    for (const name of ["a", "b", "c", "d", "e"]) await create(`/p/${name}`);
    await create("/q/a");
    const first = await store.list("/p/", { limit: 2 });
    assert.deepEqual(first.entries.map(entryText), ["/p/a=v", "/p/b=v"]);
    assert.equal(first.remaining, 3);
    await create("/p/bb");
    const last = first.entries.at(-1);
    assert.ok(last !== undefined);
    const next = { after: last.key, limit: 2, revision: first.revision };
    const second = await store.list("/p/", next);
    assert.deepEqual(second.entries.map(entryText), ["/p/c=v", "/p/d=v"]);
    assert.deepEqual([second.remaining, second.revision], [1, first.revision]);
    const newest = await store.list("/p/", { after: last.key });
    assert.deepEqual(newest.entries.map(entryText), ["/p/bb=v", "/p/c=v", "/p/d=v", "/p/e=v"]);
    assert.equal(newest.remaining, 0);
    assert.equal(newest.revision, await store.revision());
  });

  it("lists only keys of the prefix even if `after` is outside", async () => {
    await create("/p/a");
    await create("/o/a");
    assert.equal((await store.list("/p/", { after: "/a" })).entries.length, 1);
    assert.equal((await store.list("/p/", { after: "/z" })).entries.length, 0);
  });
});
