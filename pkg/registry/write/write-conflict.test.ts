import assert from "node:assert/strict";
import { memoryBackend, objectStore, type ObjectStore } from "#storage";
import { testRegistry, type TestRegistry } from "../testing.ts";

const maps = "v1/configmaps/ns";
const writers = 200;

/** A store that counts updates, each of which takes one turn of the event loop. */
function countingStore(): { readonly store: ObjectStore; readonly attempts: () => number } {
  const store = objectStore(memoryBackend(), { root: "/registry" });
  let attempts = 0;
  const update: ObjectStore["update"] = async (...given) => {
    attempts++;
    await new Promise(setImmediate);
    return store.update(...given);
  };
  const counting: ObjectStore = Object.assign(Object.create(store), { update });
  return { store: counting, attempts: () => attempts };
}

async function everyWriter(write: (n: number) => Promise<unknown>): Promise<void> {
  await Promise.all(Array.from({ length: writers }, (_each, n) => write(n)));
}

describe("concurrent writers of one object", () => {
  let api: TestRegistry;
  let attempts: () => number;
  beforeEach(async () => {
    const counting = countingStore();
    attempts = counting.attempts;
    api = await testRegistry({ store: counting.store });
    await api.post(maps, { metadata: { name: "a" } });
  });

  const kinds: readonly (readonly [string, (n: number) => Promise<unknown>])[] = [
    ["merge", (n) => api.patch(`${maps}/a`, { data: { [`key-${n}`]: "x" } })],
    [
      "replace without a version",
      (n) => api.put(`${maps}/a`, { metadata: { name: "a" }, data: { [`key-${n}`]: "x" } }),
    ],
    [
      "apply",
      (n) => {
        const body = { apiVersion: "v1", kind: "ConfigMap", data: { [`key-${n}`]: "x" } };
        return api.patch(`${maps}/a`, body, { patchType: "apply", fieldManager: `m${n}` });
      },
    ],
  ];
  for (const [what, write] of kinds) {
    it(`need at most two attempts each on average (${what})`, async () => {
      await everyWriter(write);
      assert.ok(attempts() <= 2 * writers, `${attempts()} attempts`);
      const { data } = (await api.get(`${maps}/a`)).object;
      assert.equal(Object.keys(data).length, what.startsWith("replace") ? 1 : writers);
    });
  }

  it("do not block a concurrent delete", async () => {
    const outcomes = await Promise.allSettled([
      ...Array.from({ length: 20 }, (_each, n) =>
        api.patch(`${maps}/a`, { data: { [`key-${n}`]: "x" } }),
      ),
      api.remove(`${maps}/a`),
    ]);
    assert.equal(outcomes.at(-1)?.status, "fulfilled");
    for (const outcome of outcomes) {
      if (outcome.status === "rejected") assert.equal(outcome.reason.code, 404);
    }
    assert.equal(await api.names(maps).then((names) => names.length), 0);
  });
});
