import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { systemClock } from "#base";
import { StoreFault, type Backend, type StoreEvent, type StoreFaultDetail } from "../backend.ts";
import { startCompactor } from "../compactor.ts";
import { etcdBackend, type EtcdBackendOptions } from "./etcd-backend.ts";
import { keyOfEvent, revisionOfEvent } from "./watch/store-event.ts";
import { startEtcd, type EtcdCluster } from "./testing.ts";

const all = { from: "/", to: "0" };

function connect(etcd: EtcdCluster, options: Partial<EtcdBackendOptions> = {}): Backend {
  return etcdBackend({ endpoints: etcd.endpoints, ...options });
}

async function put(backend: Backend, key: string, value = "v"): Promise<number> {
  const write = { put: key, value: Buffer.from(value) };
  const result = await backend.txn({ compare: [], then: [write], otherwise: [] });
  assert.equal(result.succeeded, true);
  return result.revision;
}

async function faultKind(work: Promise<unknown>): Promise<StoreFaultDetail["kind"]> {
  const error: unknown = await work.then(
    () => assert.fail("a fault was expected"),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof StoreFault, String(error));
  return error.detail.kind;
}

/** Collects a watch in the background; `until` resolves when it got as far as a revision. */
function collect(backend: Backend, fromRevision: number) {
  const abort = new AbortController();
  const events: StoreEvent[] = [];
  const state = { revision: 0, fault: undefined as unknown };
  const finished = (async () => {
    try {
      for await (const batch of backend.watch({ fromRevision, signal: abort.signal })) {
        assert.ok(batch.revision >= state.revision, "revisions of batches do not go back");
        for (const event of batch.events) assert.ok(revisionOfEvent(event) > state.revision);
        events.push(...batch.events);
        state.revision = batch.revision;
      }
    } catch (error) {
      state.fault = error;
    }
  })();
  return {
    events,
    async until(revision: number): Promise<void> {
      for (let tries = 0; state.revision < revision && tries < 6_000; tries += 1) {
        if (state.fault !== undefined) throw state.fault;
        if (tries % 20 === 0) backend.requestProgress();
        await systemClock.sleep(10);
      }
      assert.ok(state.revision >= revision, `watch got to ${state.revision} of ${revision}`);
    },
    async stop(): Promise<void> {
      abort.abort();
      await finished;
      assert.equal(state.fault, undefined);
    },
  };
}

/** Keeps writing distinct keys; a write that is not acknowledged is left open. */
function traffic(backend: Backend) {
  const acknowledged = new Map<string, number>();
  const faults: unknown[] = [];
  const state = { stop: false };
  const writer = async (name: string): Promise<void> => {
    for (let serial = 0; !state.stop; serial += 1) {
      const key = `/traffic/${name}-${String(serial).padStart(6, "0")}`;
      await put(backend, key).then(
        (revision) => acknowledged.set(key, revision),
        (fault: unknown) => faults.push(fault),
      );
      await systemClock.sleep(1);
    }
  };
  const running = Promise.all(["a", "b", "c", "d"].map(writer));
  return {
    acknowledged,
    /** Waits for so many more acknowledged writes. */
    async more(count: number): Promise<void> {
      const wanted = acknowledged.size + count;
      while (acknowledged.size < wanted) await systemClock.sleep(10);
    },
    async stop(): Promise<void> {
      state.stop = true;
      await running;
      for (const fault of faults) {
        assert.ok(fault instanceof StoreFault, String(fault));
        assert.match(fault.detail.kind, /^(unavailable|timeout)$/);
      }
    },
  };
}

/** The watch delivered exactly what the store has, in order, and all that was acknowledged. */
async function checkHistory(
  backend: Backend,
  events: readonly StoreEvent[],
  acknowledged: ReadonlyMap<string, number>,
): Promise<void> {
  const { entries } = await backend.range(all);
  const stored = new Map(entries.map(({ key, modRevision }) => [key, modRevision]));
  for (const [key, revision] of acknowledged) assert.equal(stored.get(key), revision, key);
  const seen = new Map(events.map((event) => [keyOfEvent(event), revisionOfEvent(event)]));
  assert.equal(events.length, seen.size, "no event twice");
  const inOrder = [...stored].sort(([, left], [, right]) => left - right);
  assert.deepEqual([...seen], inOrder);
}

describe("etcd backend", () => {
  let etcd: EtcdCluster;
  let backend: Backend;

  before(async () => {
    etcd = await startEtcd({ arguments: ["--max-request-bytes=1048576"] });
    backend = connect(etcd);
  });
  after(async () => {
    await backend[Symbol.asyncDispose]();
    await etcd[Symbol.asyncDispose]();
  });

  it("delivers a write that follows the start of a watch", async () => {
    for (let round = 0; round < 20; round += 1) {
      const abort = new AbortController();
      const before = await backend.revision();
      const options = { fromRevision: before + 1, signal: abort.signal };
      const watch = backend.watch(options)[Symbol.asyncIterator]();
      const revision = await put(backend, "/now");
      const first = await watch.next();
      assert.ok(!first.done);
      assert.deepEqual(first.value.events.map(revisionOfEvent), [revision]);
      assert.equal(revision, before + 1);
      abort.abort();
      assert.equal((await watch.next()).done, true);
    }
  });

  it("joins a revision that is larger than a message of the watch", async () => {
    const abort = new AbortController();
    const value = randomBytes(200_000);
    const start = (await backend.revision()) + 1;
    for (let round = 0; round < 30; round += 1) {
      const then = ["/large/a", "/large/b", "/large/c"].map((key) => ({ put: key, value }));
      await backend.txn({ compare: [], then, otherwise: [] });
    }
    const sizes: number[] = [];
    await using other = connect(etcd);
    let revision = start - 1;
    for await (const batch of other.watch({ fromRevision: start, signal: abort.signal })) {
      for (const event of batch.events) {
        if (revisionOfEvent(event) > revision) sizes.push(0);
        revision = revisionOfEvent(event);
        sizes[sizes.length - 1] = (sizes.at(-1) ?? 0) + 1;
      }
      assert.equal(sizes.at(-1), 3, "a batch ends with a whole revision");
      if (sizes.length === 30) break;
    }
    assert.ok(sizes.every((size) => size === 3));
  });

  it("tells a request that is too large", async () => {
    const work = put(backend, "/too-large", "x".repeat(2 ** 21));
    assert.equal(await faultKind(work), "too-large");
    await put(backend, "/fits");
  });

  it("reads lists far beyond four mebibytes", async () => {
    const value = "y".repeat(500_000);
    for (let index = 0; index < 20; index += 1) await put(backend, `/big/${index}`, value);
    const { entries } = await backend.range({ from: "/big/", to: "/big0" });
    assert.equal(entries.length, 20);
  });

  it("cancels a call whose signal aborts", async () => {
    const abort = new AbortController();
    const work = backend.range({ ...all, signal: abort.signal });
    abort.abort(new Error("enough"));
    await assert.rejects(work, /enough/);
    await assert.rejects(backend.get("/fits", { signal: abort.signal }), /enough/);
    await assert.rejects(backend.revision(abort.signal), /enough/);
  });

  it("tells a reader that paused across a compaction", async () => {
    await using other = connect(etcd, { historyBytes: 0, lagBytes: 1_000 });
    // The first watch starts the buffer; one that starts before the buffer reads a stream of its own.
    const initial = collect(other, (await other.revision()) + 1);
    await initial.until(await put(other, "/pause/a"));
    await initial.stop();
    const abort = new AbortController();
    const start = (await other.revision()) + 1;
    const watch = other.watch({ fromRevision: start, signal: abort.signal });
    const reader = watch[Symbol.asyncIterator]();
    const first = reader.next();
    await put(other, "/pause/a");
    assert.equal((await first).done, false);
    let last = 0;
    const text = "z".repeat(200);
    for (let index = 0; index < 20; index += 1) last = await put(other, "/pause/a", text);
    await other.compact(last);
    let newest = last;
    for (let tries = 0; tries < 50; tries += 1) newest = await put(other, "/pause/b");
    // Until then the reader could still keep up with the events.
    const seen = collect(other, newest);
    await seen.until(newest);
    await seen.stop();
    assert.equal(await faultKind(drain(reader)), "too-slow");
    const again = other.watch({ fromRevision: start, signal: abort.signal });
    const fault = await drain(again[Symbol.asyncIterator]()).catch((error: unknown) => error);
    assert.ok(fault instanceof StoreFault);
    assert.deepEqual(fault.detail, { kind: "compacted", oldest: last });
    const old = other.range({ ...all, revision: last - 1 });
    assert.equal(await faultKind(old), "compacted");
    await other.range({ ...all, revision: last });
    await other.compact(last);
  });

  it("makes keys with a time to live go away, on a shared lease", async () => {
    const value = Buffer.from("v");
    const then = ["/ttl/a", "/ttl/b"].map((key) => ({ put: key, value, ttlSeconds: 1 }));
    const { revision } = await backend.txn({ compare: [], then, otherwise: [] });
    const watch = collect(backend, revision);
    await watch.until(revision + 1);
    assert.deepEqual(
      watch.events.map((event) => `${event.type} ${keyOfEvent(event)}`).slice(0, 2),
      ["put /ttl/a", "put /ttl/b"],
    );
    while (watch.events.length < 4) await systemClock.sleep(100);
    assert.deepEqual(
      watch.events.slice(2).map((event) => event.type),
      ["delete", "delete"],
    );
    await watch.stop();
  });

  it("compacts once per interval across all replicas", async () => {
    const compacted: number[] = [];
    const counting: Backend = {
      ...bound(backend),
      compact: async (revision) => {
        compacted.push(revision);
        await backend.compact(revision);
      },
    };
    const faults: unknown[] = [];
    const onFault = (fault: unknown): void => void faults.push(fault);
    const options = { clock: systemClock, intervalMs: 150, onFault };
    const begin = performance.now();
    {
      await using _one = startCompactor(counting, options);
      await using _two = startCompactor(counting, options);
      await using _three = startCompactor(counting, options);
      while (compacted.length < 4) await systemClock.sleep(10);
    }
    assert.deepEqual(faults, []);
    const intervals = (performance.now() - begin) / options.intervalMs;
    assert.ok(compacted.length <= intervals, `${compacted.length} compactions`);
    assert.deepEqual(
      compacted,
      [...compacted].sort((left, right) => left - right),
    );
  });

  it("refuses calls and ends watches once it is closed", async () => {
    const other = connect(etcd);
    const abort = new AbortController();
    const fromRevision = (await other.revision()) + 1;
    const watch = other.watch({ fromRevision, signal: abort.signal })[Symbol.asyncIterator]();
    const next = faultKind(watch.next());
    await other.revision();
    await other[Symbol.asyncDispose]();
    assert.equal(await next, "closed");
    assert.equal(await faultKind(other.revision()), "closed");
    assert.equal(await faultKind(put(other, "/closed")), "closed");
  });
});

describe("etcd backend, one member that crashes", () => {
  it("loses and repeats no event over kill -9 and restart", async () => {
    await using etcd = await startEtcd();
    await using backend = connect(etcd);
    const watch = collect(backend, (await backend.revision()) + 1);
    const writes = traffic(backend);
    for (let round = 0; round < 3; round += 1) {
      await writes.more(30);
      await etcd.members[0]?.kill();
      await systemClock.sleep(200);
      await etcd.members[0]?.start();
    }
    await writes.more(30);
    await writes.stop();
    await watch.until(await backend.revision());
    await checkHistory(backend, watch.events, writes.acknowledged);
    await watch.stop();
  });

  it("says that there is no space, and goes on reading", async () => {
    await using etcd = await startEtcd({ arguments: ["--quota-backend-bytes=1000000"] });
    await using backend = connect(etcd);
    const fill = async (): Promise<void> => {
      for (let index = 0; index < 100; index += 1) await put(backend, "/full", "x".repeat(100_000));
    };
    assert.equal(await faultKind(fill()), "no-space");
    assert.ok((await backend.get("/full")).entry !== undefined);
  });

  it("says that nothing is there in the time it was given", async () => {
    await using backend = etcdBackend({ endpoints: ["http://127.0.0.1:1"], requestTimeoutMs: 500 });
    const begin = Date.now();
    const error = await put(backend, "/x").catch((reason: unknown) => reason);
    assert.ok(Date.now() - begin < 9_000, "before the default of 10 s");
    assert.ok(error instanceof StoreFault && error.detail.kind === "unavailable", String(error));
    assert.equal(error.detail.maybeApplied, false);
    assert.match(error.message, /ECONNREFUSED/);
  });

  it("fails pending calls when it is closed", async () => {
    await using etcd = await startEtcd();
    const backend = connect(etcd, { requestTimeoutMs: 600_000, readAttemptMs: 600_000 });
    await put(backend, "/x");
    etcd.members[0]!.signal("SIGSTOP");
    const faults = [faultKind(put(backend, "/x")), faultKind(backend.get("/x"))];
    // Long enough for both calls to be sent.
    await systemClock.sleep(1_000);
    await backend[Symbol.asyncDispose]();
    assert.deepEqual(await Promise.all(faults), ["unavailable", "closed"]);
  });
});

describe("etcd backend, three members", function () {
  for (const [what, away, back] of [
    ["killed", "SIGKILL", undefined],
    ["stopped", "SIGSTOP", "SIGCONT"],
  ] as const) {
    it(`keeps every acknowledged write and event when the leader is ${what}`, async () => {
      await using etcd = await startEtcd({ size: 3 });
      await using backend = connect(etcd, { requestTimeoutMs: 5_000, readAttemptMs: 1_000 });
      const watch = collect(backend, (await backend.revision()) + 1);
      const writes = traffic(backend);
      await writes.more(30);
      const leader = await leaderOf(etcd);
      if (away === "SIGKILL") await leader.kill();
      else leader.signal(away);
      // Writes go on without it.
      await writes.more(100);
      if (back !== undefined) leader.signal(back);
      await systemClock.sleep(300);
      await writes.stop();
      await watch.until(await backend.revision());
      await checkHistory(backend, watch.events, writes.acknowledged);
      await watch.stop();
    });
  }
});

async function leaderOf(etcd: EtcdCluster): Promise<EtcdCluster["members"][number]> {
  const { Etcd3 } = await import("etcd3");
  // During an election there is none.
  for (;;) {
    for (const member of etcd.members) {
      const client = new Etcd3({ hosts: member.endpoint });
      const { header, leader } = await client.maintenance.status();
      client.close();
      if (header.member_id === leader) return member;
    }
    await systemClock.sleep(100);
  }
}

async function drain(reader: AsyncIterator<unknown>): Promise<void> {
  while (!(await reader.next()).done);
}

function bound(backend: Backend): Backend {
  return {
    get: backend.get.bind(backend),
    range: backend.range.bind(backend),
    txn: backend.txn.bind(backend),
    watch: backend.watch.bind(backend),
    requestProgress: backend.requestProgress.bind(backend),
    compact: backend.compact.bind(backend),
    revision: backend.revision.bind(backend),
    [Symbol.asyncDispose]: backend[Symbol.asyncDispose].bind(backend),
  };
}
