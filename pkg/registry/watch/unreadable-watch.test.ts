import assert from "node:assert/strict";
import { encryptedBackend, Encryption, memoryBackend, objectStore } from "#storage";
import type { ItemEvent, WatchOptions } from "../contract.ts";
import { type TestRegistry, testRegistry } from "../testing.ts";

const key = "/registry/configmaps/ns/a";

describe("watches of values that cannot be decrypted", () => {
  const raw = memoryBackend();
  let api: TestRegistry;
  let start: string;

  before(async () => {
    const encryption = new Encryption({
      root: "/registry",
      resources: new Map(),
      report: () => undefined,
    });
    const store = objectStore(encryptedBackend(raw, encryption), { root: "/registry" });
    api = await testRegistry({ store });
    for (const name of ["a", "b"]) {
      await api.post("v1/configmaps/ns", { metadata: { name, labels: { app: "x" } } });
    }
    start = String(await store.revision());
  });

  /** Stores a value as a server with another key does, or deletes it. */
  async function write(value: string | undefined): Promise<void> {
    const operation =
      value === undefined ? { delete: key } : { put: key, value: Buffer.from(value) };
    await raw.txn({ compare: [], then: [operation], otherwise: [] });
  }

  /** Starts a watch; resolves with all of its events when it has ended. */
  function events(path: string, options: Partial<WatchOptions>) {
    const found: ItemEvent[] = [];
    const ended = (async () => {
      const all = { resourceVersion: start, ...options };
      for await (const event of api.watch(path, all)) found.push(event);
      return found;
    })();
    return { found, ended };
  }

  const concerned: readonly (readonly [string, Partial<WatchOptions>])[] = [
    ["v1/configmaps/ns", {}],
    ["v1/configmaps", {}],
    ["v1/configmaps/ns", { labelSelector: "app=x" }],
    ["v1/configmaps/ns", { labelSelector: "app=y" }],
    ["v1/configmaps/ns", { fieldSelector: "metadata.name=a" }],
  ];
  const sealed = "k8s:enc:aesgcm:v1:other:secret";

  it("end with an error when the value is written, deleted, or read from history", async () => {
    for (const value of [sealed, undefined]) {
      const current = String(await api.store.revision());
      const at = value === undefined ? { resourceVersion: current } : {};
      const running = concerned.map(([path, options]) => events(path, { ...options, ...at }));
      const other = events("v1/secrets/ns", { resourceVersion: current });
      // Watches that start later than the write find it in the watch cache.
      await new Promise((resolve) => setTimeout(resolve, 0));
      await write(value);
      for (const { ended } of running) {
        const last = (await ended).at(-1);
        assert.equal(last?.type, "ERROR");
        assert.equal(
          last.status.message,
          `Internal error occurred: unable to transform key "${key}": ` +
            "identity transformer tried to read encrypted data",
        );
        assert.deepEqual(
          (await ended).filter(({ type }) => type !== "ERROR"),
          [],
        );
      }
      assert.deepEqual(other.found, []);
      for (const [path, options] of concerned) {
        const [first] = await events(path, { ...options, resourceVersion: current }).ended;
        assert.equal(first?.type, "ERROR", `${path} ${JSON.stringify(options)}`);
      }
    }
    assert.deepEqual(await api.names("v1/configmaps/ns"), ["b"]);
  });

  it("continue for values that can be read again", async () => {
    await write(sealed);
    const from = String(await api.store.revision());
    const running = events("v1/configmaps/ns", { resourceVersion: from });
    await write(
      '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"ns","uid":"u"}}',
    );
    while (running.found.length === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    assert.deepEqual(
      running.found.map(({ type }) => type),
      ["MODIFIED"],
    );
  });
});
