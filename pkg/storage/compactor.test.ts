import assert from "node:assert/strict";
import { systemClock, type Clock } from "#base";
import { startCompactor } from "./compactor.ts";
import { memoryBackend } from "./embedded/index.ts";
import { type Backend, StoreFault } from "./backend.ts";

/** A clock on which every `sleep` ends at the next `tick`. */
function manualClock(): { readonly clock: Clock; tick(): Promise<void> } {
  let sleepers: (() => void)[] = [];
  const sleep = (_ms: number, signal?: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      sleepers.push(resolve);
      signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
    });
  return {
    clock: { ...systemClock, sleep },
    async tick() {
      for (const wake of sleepers.splice(0)) wake();
      for (let turns = 0; turns < 20; turns += 1) await new Promise(setImmediate);
      sleepers = [...sleepers];
    },
  };
}

describe("compactor", () => {
  const write = async (backend: Backend): Promise<number> => {
    const then = [{ put: "/a", value: Buffer.from("v") }];
    return (await backend.txn({ compare: [], then, otherwise: [] })).revision;
  };

  const readable = (backend: Backend, revision: number): Promise<boolean> =>
    backend.get("/a", { revision }).then(
      () => true,
      () => false,
    );

  it("compacts a store that has no space for the coordination key", async () => {
    await using backend = memoryBackend({});
    const { clock, tick } = manualClock();
    const faults: unknown[] = [];
    const full = {
      txn: () => Promise.reject(new StoreFault({ kind: "no-space", message: "full" })),
      compact: (revision: number) => backend.compact(revision),
      revision: () => backend.revision(),
    };
    await using _compactor = startCompactor(full, {
      clock,
      intervalMs: 1,
      key: "/compact",
      onFault: (fault) => faults.push(fault),
    });
    const first = await write(backend);
    await write(backend);
    await tick();
    assert.equal(await readable(backend, first), true);
    await tick();
    assert.equal(await readable(backend, first), false);
    assert.deepEqual(faults, []);
  });

  it("compacts in each round to the revision of the previous one, and never in the first", async () => {
    await using backend = memoryBackend({});
    const { clock, tick } = manualClock();
    const faults: unknown[] = [];
    const onFault = (fault: unknown): void => void faults.push(fault);
    await using _compactor = startCompactor(backend, {
      clock,
      intervalMs: 1,
      key: "/compact",
      onFault,
    });
    const first = await write(backend);
    await write(backend);
    await tick();
    assert.equal(await readable(backend, first), true);
    const second = await write(backend);
    await tick();
    assert.equal(await readable(backend, first), false);
    assert.equal(await readable(backend, second), true);
    await tick();
    assert.equal(await readable(backend, second), false);
    assert.deepEqual(faults, []);
  });

  it("compacts once per round with two replicas, and continues when one stops", async () => {
    await using backend = memoryBackend({});
    const compacted: string[] = [];
    const named = (name: string): Backend =>
      new Proxy(backend, {
        get(target, property) {
          if (property === "compact") compacted.push(name);
          const member: unknown = Reflect.get(target, property);
          return typeof member === "function" ? member.bind(target) : member;
        },
      });
    const { clock, tick } = manualClock();
    const options = { clock, intervalMs: 1, key: "/compact" };
    const one = startCompactor(named("one"), options);
    await using _two = startCompactor(named("two"), options);
    for (let round = 0; round < 4; round += 1) await tick();
    const together = compacted.length;
    assert.ok(together >= 2 && together <= 4, compacted.join());
    await one[Symbol.asyncDispose]();
    compacted.length = 0;
    for (let round = 0; round < 3; round += 1) await tick();
    assert.ok(compacted.length >= 2 && compacted.every((name) => name === "two"), compacted.join());
  });
});
