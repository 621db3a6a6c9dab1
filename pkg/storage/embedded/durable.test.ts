import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { statSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { seededRandom, type Random } from "#base";
import { StoreFault, type Backend } from "../backend.ts";
import { storageSuite } from "../suite.ts";
import { revisionOf, Subject, Tap } from "../suite-subject.ts";
import { valueFor } from "./durable-writer.ts";
import { durableBackend } from "./durable.ts";
import type { EmbeddedStore } from "./embedded-store.ts";

const directories: string[] = [];
const newDirectory = (): string => {
  const directory = mkdtempSync(join(tmpdir(), "keelson-store-"));
  directories.push(directory);
  return directory;
};
const removeDirectories = (): void => {
  for (const directory of directories.splice(0)) {
    rmSync(directory, { recursive: true, force: true });
  }
};
const quick = { progressMilliseconds: 300 };
const keepAll = { retention: { milliseconds: 1e9, revisions: 1e9, bytes: 1e12 } };

storageSuite("durable", () => durableBackend({ directory: newDirectory(), limits: quick }), {
  fresh: true,
});

describe("durable backend", () => {
  after(removeDirectories);

  it("is after a restart as it was, with its past, revisions and times to live", async () => {
    const directory = newDirectory();
    const random = seededRandom(11);
    const first = await durableBackend({ directory });
    await scribble(first, random, 400);
    await first.compact(150);
    await scribble(first, random, 100);
    const then = [{ put: "/r/timed", value: Buffer.from("x"), ttlSeconds: 1.5 }];
    await first.txn({ compare: [], then, otherwise: [] });
    const before = await picture(first);
    await first[Symbol.asyncDispose]();
    await using second = await durableBackend({ directory });
    assert.deepEqual(await picture(second), before);
    const s = new Subject(second);
    const fault = await s.faultOf(second.range({ from: "/r/", to: "/r0", revision: 149 }));
    assert.ok(fault.kind === "compacted" && fault.oldest === 150);
    await new Promise((resolve) => setTimeout(resolve, 2000));
    assert.equal((await second.get("/r/timed")).entry, undefined);
    await scribble(second, random, 300);
    await second.compact(300);
    const later = await picture(second);
    await second[Symbol.asyncDispose]();
    await using third = await durableBackend({ directory });
    assert.deepEqual(await picture(third), later);
  });

  it("keeps every acknowledged write through kill -9", async function () {
    this.timeout(120_000);
    const directory = newDirectory();
    const random = seededRandom(Date.now());
    const acknowledged = new Map<string, number>();
    let newest = 1;
    for (let round = 0; round < 6; round++) {
      await writeAndKill(directory, 20 + random.below(900), acknowledged);
      await using backend = await durableBackend({ directory, limits: keepAll });
      const { entries, revision } = await backend.range({ from: "/kill/", to: "/kill0" });
      const found = new Map(entries.map((entry) => [entry.key, entry]));
      for (const [key, at] of acknowledged) {
        assert.equal(found.get(key)?.modRevision, at, `${key} in round ${round}`);
      }
      for (const entry of entries) {
        assert.equal(Buffer.compare(entry.value, valueFor(entry.key)), 0, `${entry.key} is torn`);
      }
      newest = Math.max(newest, ...acknowledged.values());
      assert.ok(revision >= newest, "revisions do not go back");
      assert.equal(found.get("/kill/last")?.modRevision, revision, "transactions are whole");
    }
  });

  it("keeps its files from other users, in a directory that was there before", async () => {
    const directory = newDirectory();
    for (const name of ["data.mdb", "data.mdb-lock"]) writeFileSync(join(directory, name), "");
    for (const path of [directory, join(directory, "data.mdb")]) chmodSync(path, 0o755);
    await using store = await durableBackend({ directory });
    await store.txn({ compare: [], then: [{ put: "/k", value: Buffer.from("v") }], otherwise: [] });
    assert.equal(statSync(directory).mode & 0o777, 0o700);
    for (const name of readdirSync(directory)) {
      assert.equal(statSync(join(directory, name)).mode & 0o777, 0o600, name);
    }
  });

  it("refuses a marker that it has not written", async () => {
    const directory = newDirectory();
    await (await durableBackend({ directory }))[Symbol.asyncDispose]();
    for (const text of ["", "{", '{"format":2}']) {
      writeFileSync(join(directory, "store.json"), text);
      await assert.rejects(durableBackend({ directory }), /store\.json is damaged/);
    }
  });

  it("refuses a directory that is open in this process or another", async () => {
    const directory = newDirectory();
    const child = startWriter(directory);
    await once(child.stdout, "data");
    const inUse = (pid: number | undefined) => (error: unknown) =>
      error instanceof StoreFault &&
      error.detail.kind === "unavailable" &&
      error.detail.message.endsWith(`is in use by process ${pid}`);
    await assert.rejects(durableBackend({ directory }), inUse(child.pid));
    child.kill("SIGKILL");
    await once(child, "close");
    const backend = await durableBackend({ directory });
    await assert.rejects(durableBackend({ directory }), inUse(process.pid));
    await backend.txn(anyWrite);
    await backend[Symbol.asyncDispose]();
    await using again = await durableBackend({ directory });
    assert.equal((await again.get("/b")).entry?.key, "/b");
  });

  it("writes no more once another process has taken the directory over", async () => {
    const directory = newDirectory();
    await using first = await durableBackend({ directory });
    await new Subject(first).write({ a: "1" });
    rmSync(join(directory, "owner.json")); // as if the two could not see each other
    await using second = await durableBackend({ directory });
    const s = new Subject(second);
    await s.write({ a: "2" });
    const fault = await s.faultOf(new Subject(first).write({ a: "3" }));
    assert.equal(fault.kind, "unavailable");
    assert.match(s.show((await s.get("a")).entry)!, /^a=2 /);
    assert.equal((await new Subject(first).faultOf(first.txn(anyWrite))).kind, "unavailable");
  });

  it("refuses what exceeds its quota, and goes on when there is room again", async () => {
    await using backend = await durableBackend({ directory: newDirectory(), quotaBytes: 50_000 });
    const s = new Subject(backend);
    const { revision } = await s.write({ a: "x".repeat(40_000) });
    assert.equal((await s.faultOf(s.write({ b: "x".repeat(20_000) }))).kind, "no-space");
    assert.equal((await s.get("b")).entry, undefined);
    await s.write({ a: undefined });
    await backend.compact(revision + 1);
    await s.write({ c: "small" });
    assert.equal((await s.write({ b: "x".repeat(20_000) })).succeeded, true);
  });
});

describe("a full durable store", () => {
  after(removeDirectories);

  it("forgets its history for a write that finds no space", async () => {
    const directory = newDirectory();
    await using backend = await durableBackend({ directory, quotaBytes: 100_000 });
    const s = new Subject(backend);
    const { revision } = await s.write({ a: "1".repeat(40_000) });
    await s.write({ a: "2".repeat(40_000) });
    await s.write({ a: undefined });
    assert.equal((await s.write({ b: "3".repeat(90_000) })).succeeded, true);
    assert.equal((await s.faultOf(backend.get("/a", { revision }))).kind, "compacted");
    assert.equal((await s.faultOf(s.write({ c: "4".repeat(90_000) }))).kind, "no-space");
    assert.equal((await s.write({ d: "5" })).succeeded, true);
  });

  it("serves concurrent writers that find no space together", async () => {
    const directory = newDirectory();
    await using backend = await durableBackend({ directory, quotaBytes: 100_000 });
    const s = new Subject(backend);
    await s.write({ a: "1".repeat(90_000) });
    await s.write({ a: undefined });
    const names = Array.from({ length: 10 }, (_, index) => `b${index}`);
    const writes = await Promise.all(names.map((name) => s.write({ [name]: "2".repeat(8_000) })));
    assert.deepEqual([...new Set(writes.map(({ succeeded }) => succeeded))], [true]);
  });
});

describe("a damaged data file", () => {
  after(removeDirectories);

  it("is refused as corrupt or served whole, never wrong", async () => {
    const directory = newDirectory();
    const file = join(directory, "data.mdb");
    const random = seededRandom(Date.now());
    const backend = await durableBackend({ directory, limits: keepAll });
    await scribble(backend, random, 400);
    const before = await picture(backend);
    await backend[Symbol.asyncDispose]();
    const good = readFileSync(file);
    let refused = 0;
    for (let round = 0; round < 60; round++) {
      writeFileSync(file, damaged(good, random));
      try {
        await using opened = await durableBackend({ directory, limits: keepAll });
        assert.deepEqual(await picture(opened), before, `round ${round}`);
      } catch (error) {
        if (!(error instanceof StoreFault)) throw error;
        assert.equal(error.detail.kind, "corrupt", error.message);
        refused += 1;
      }
    }
    assert.ok(refused > 20, `only ${refused} of 60 were noticed`);
    writeFileSync(file, good);
    await using whole = await durableBackend({ directory, limits: keepAll });
    assert.deepEqual(await picture(whole), before);
  });

  it("is corrupt when it is cut short, empty or gone, not new", async () => {
    const directory = newDirectory();
    const file = join(directory, "data.mdb");
    const backend = await durableBackend({ directory });
    await scribble(backend, seededRandom(3), 100);
    await backend[Symbol.asyncDispose]();
    const { length } = readFileSync(file);
    const isCorrupt = (error: unknown) =>
      error instanceof StoreFault && error.detail.kind === "corrupt";
    for (const size of [length - 1, length - 4096, 8192, 100, 0]) {
      truncateSync(file, size);
      await assert.rejects(durableBackend({ directory }), isCorrupt, `${size} bytes`);
    }
    rmSync(file);
    await assert.rejects(durableBackend({ directory }), isCorrupt, "gone");
  });
});

const anyWrite = { compare: [], then: [{ put: "/b", value: Buffer.from("x") }], otherwise: [] };

/** Random writes below /r/, each of them a revision. */
async function scribble(backend: Backend, random: Random, count: number): Promise<void> {
  const writes: Promise<unknown>[] = [];
  for (let i = 0; i < count; i++) {
    const keys = new Set([`/r/${random.below(60)}`, `/r/${random.below(60)}`]);
    const length = random.below(20) === 0 ? 9000 : random.below(2000);
    const then = [...keys].map((key, place) =>
      place === 1 && random.below(2) === 0
        ? { delete: key }
        : { put: key, value: Buffer.alloc(length, key) },
    );
    writes.push(backend.txn({ compare: [], then, otherwise: [] }));
    if (random.below(10) === 0) await Promise.all(writes);
  }
  await Promise.all(writes);
}

/** All that can be seen below /r/: now, at each live revision, and by a watch from the oldest. */
async function picture(backend: EmbeddedStore): Promise<unknown> {
  const { revision } = await backend.range({ from: "/r/", to: "/r0" });
  const { oldest } = backend.history;
  const lists: string[] = [];
  for (let at = oldest; at <= revision; at++) {
    const { entries } = await backend.range({ from: "/r/", to: "/r0", revision: at });
    lists.push(
      entries.map((e) => `${e.key} ${e.createRevision} ${e.modRevision} ${e.value.length}`).join(),
    );
  }
  await using tap = new Tap(backend, { prefix: "/r/", fromRevision: oldest + 1 });
  const events: string[] = [];
  for (let reached = oldest; reached < revision;) {
    for (const event of (await tap.batch())!.events) {
      reached = revisionOf(event);
      const key = event.type === "put" ? event.entry.key : event.key;
      const previous = event.previous?.modRevision;
      events.push(`${revisionOf(event)} ${event.type} ${key} ${String(previous)}`);
    }
  }
  return { oldest, revision, lists, events };
}

function damaged(good: Buffer, random: Random): Buffer {
  const bad = Buffer.from(good);
  const page = (): number => random.below(bad.length / 4096) * 4096;
  switch (random.below(4)) {
    case 0:
      return bad.subarray(0, 1 + random.below(bad.length - 1));
    case 1:
      return bad.fill(random.below(256), bad.length - 1 - random.below(20_000));
    case 2:
      bad.set(random.bytes(4096), page());
      return bad;
    default: {
      const at = page() + random.below(300);
      bad[at] = bad[at]! ^ (1 + random.below(255));
      return bad;
    }
  }
}

function startWriter(directory: string) {
  const script = new URL("durable-writer.ts", import.meta.url).href;
  const code = `import(${JSON.stringify(script)}).then((m) => m.writeForever(process.argv[1]))`;
  const flags = ["--conditions=source", "--import=tsx", "-e", code, directory];
  return spawn(process.execPath, flags, { stdio: ["ignore", "pipe", "inherit"] });
}

/**
 * Runs a writer until it has acknowledged `count` writes, kills it, and notes all it acknowledged.
 */
async function writeAndKill(
  directory: string,
  count: number,
  acknowledged: Map<string, number>,
): Promise<void> {
  const child = startWriter(directory);
  let text = "";
  let lines = 0;
  child.stdout.setEncoding("utf8");
  child.stdout.on("data", (chunk: string) => {
    text += chunk;
    lines += chunk.split("\n").length - 1;
    if (lines >= count) child.kill("SIGKILL");
  });
  await once(child, "close");
  assert.ok(lines >= count, `the writer ended by itself after ${lines} writes`);
  for (const line of text.split("\n").slice(0, -1)) {
    const [key, revision] = line.split(" ");
    acknowledged.set(key!, Number(revision));
  }
}
