import assert from "node:assert/strict";
import { memoryBackend, objectStore, type ObjectStore } from "#storage";
import { TestClock, testRegistry, type TestRegistry } from "../testing.ts";
import { KeyQueues } from "./write-conflict.ts";

const maps = "v1/configmaps/ns";
const writers = 200;

/** A store that counts attempts to replace, and what each of them takes is a turn of the loop. */
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

describe("writers of one object", () => {
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
    it(`who ${what} try about twice each, however many they are`, async () => {
      await everyWriter(write);
      assert.ok(attempts() <= 2 * writers, `${attempts()} attempts`);
      const { data } = (await api.get(`${maps}/a`)).object;
      assert.equal(Object.keys(data).length, what.startsWith("replace") ? 1 : writers);
    });
  }

  it("are not held up by a deletion among them", async () => {
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

describe("queues of keys", () => {
  const { signal } = new AbortController();

  it("let one after another in, key by key", async () => {
    const queues = new KeyQueues(new TestClock());
    const log: string[] = [];
    const visit = async (key: string, who: string): Promise<void> => {
      const leave = await queues.join(key, signal);
      log.push(`${who} in`);
      await new Promise(setImmediate);
      log.push(`${who} out`);
      leave();
    };
    await Promise.all([visit("a", "1"), visit("a", "2"), visit("a", "3")]);
    assert.equal(log.join(" "), "1 in 1 out 2 in 2 out 3 in 3 out");
    const other = await queues.join("b", signal);
    await visit("a", "4");
    other();
    await new Promise(setImmediate);
    assert.deepEqual([queues.has("a"), queues.has("b")], [false, false]);
  });

  it("hold nobody up longer than a turn may last", async () => {
    const clock = new TestClock();
    const queues = new KeyQueues(clock);
    await queues.join("a", signal);
    let isIn = false;
    const next = queues.join("a", signal).then(() => (isIn = true));
    await new Promise(setImmediate);
    assert.equal(isIn, false);
    clock.advance(1000);
    await next;
  });

  it("pass over who gave up, and nobody overtakes", async () => {
    const queues = new KeyQueues(new TestClock());
    const leave = await queues.join("a", signal);
    const impatient = new AbortController();
    const left = queues.join("a", impatient.signal);
    let isIn = false;
    const last = queues.join("a", signal).then((end) => {
      isIn = true;
      end();
    });
    impatient.abort(new Error("gone"));
    await assert.rejects(left, /gone/);
    await new Promise(setImmediate);
    assert.equal(isIn, false);
    leave();
    await last;
    await new Promise(setImmediate);
    assert.equal(queues.has("a"), false);
  });
});
