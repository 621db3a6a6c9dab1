import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { statSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { seededRandom, type Random, VirtualClock } from "#base";
import { StoreFault, type Backend } from "../backend.ts";
import { storageSuite } from "../suite.ts";
import { revisionOf, Subject, WatchReader } from "../suite-subject.ts";
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
    const clock = new VirtualClock();
    const random = seededRandom(11);
    const first = await durableBackend({ directory, clock });
    await scribble(first, random, 400);
    await first.compact(150);
    await scribble(first, random, 100);
    const then = [{ put: "/r/timed", value: Buffer.from("x"), ttlSeconds: 1.5 }];
    await first.txn({ compare: [], then, otherwise: [] });
    const before = await picture(first);
    await first[Symbol.asyncDispose]();
    await using second = await durableBackend({ directory, clock });
    assert.deepEqual(await picture(second), before);
    const s = new Subject(second);
    const fault = await s.faultOf(second.range({ from: "/r/", to: "/r0", revision: 149 }));
    assert.ok(fault.kind === "compacted" && fault.oldest === 150);
    await clock.advance(1400);
    assert.ok((await second.get("/r/timed")).entry !== undefined);
    await clock.advance(100);
    assert.equal((await second.get("/r/timed")).entry, undefined);
    await scribble(second, random, 300);
    await second.compact(300);
    const later = await picture(second);
    await second[Symbol.asyncDispose]();
    await using third = await durableBackend({ directory, clock });
    assert.deepEqual(await picture(third), later);
  });

  it("keeps every acknowledged write through kill -9", async function () {
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
    const seed = Date.now() % 1_000_000_007;
    const random = seededRandom(seed);
    const backend = await durableBackend({ directory, limits: keepAll });
    await scribble(backend, random, 400);
    const before = await picture(backend);
    await backend[Symbol.asyncDispose]();
    const good = readFileSync(file);
    let refused = 0;
    for (let round = 0; round < 60; round++) {
      writeFileSync(file, damaged(good, random, round % 4));
      if (await isRefused(directory, before, `round ${round}, seed ${seed}`)) refused += 1;
    }
    // A file that is cut or overwritten at its end, in half of the rounds, is always noticed.
    assert.ok(refused > 20, `only ${refused} of 60 were noticed, seed ${seed}`);
    writeFileSync(file, good);
    await using whole = await durableBackend({ directory, limits: keepAll });
    assert.deepEqual(await picture(whole), before);
  });

  it("is corrupt when LMDB would trust what its free list or its pages say", async () => {
    const directory = newDirectory();
    const file = join(directory, "data.mdb");
    const backend = await durableBackend({ directory, limits: keepAll });
    await scribble(backend, seededRandom(5), 200);
    await backend.compact(150);
    await scribble(backend, seededRandom(6), 20);
    const before = await picture(backend);
    await backend[Symbol.asyncDispose]();
    const good = readFileSync(file);
    for (const [what, damage] of Object.entries(lies)) {
      const bad = Buffer.from(good);
      damage(bad);
      writeFileSync(file, bad);
      assert.ok(await isRefused(directory, before, what), what);
    }
    writeFileSync(file, good);
    assert.equal(await isRefused(directory, before, "the good file"), false);
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
  await using reader = new WatchReader(backend, { prefix: "/r/", fromRevision: oldest + 1 });
  const events: string[] = [];
  for (let reached = oldest; reached < revision;) {
    for (const event of (await reader.batch())!.events) {
      reached = revisionOf(event);
      const key = event.type === "put" ? event.entry.key : event.key;
      const previous = event.previous?.modRevision;
      events.push(`${revisionOf(event)} ${event.type} ${key} ${String(previous)}`);
    }
  }
  return { oldest, revision, lists, events };
}

/** Whether the store is refused as corrupt. One that is not must show the picture. */
async function isRefused(directory: string, before: unknown, what: string): Promise<boolean> {
  try {
    await using opened = await durableBackend({ directory, limits: keepAll });
    assert.deepEqual(await picture(opened), before, what);
    return false;
  } catch (error) {
    if (!(error instanceof StoreFault)) throw error;
    assert.equal(error.detail.kind, "corrupt", `${what}: ${error.message}`);
    return true;
  }
}

/** Changes to an LMDB file that LMDB does not notice before it reads or frees what is not there. */
const lies: Readonly<Record<string, (file: Buffer) => void>> = {
  "a run of free pages without its first page": (file) => {
    const { words, count } = freeEntry(file);
    file.writeBigInt64LE(-2n, words + 8 * count);
  },
  "a run of free pages that begins with page 0": (file) => {
    const { words } = freeEntry(file);
    file.writeBigInt64LE(-2n, words + 8);
    file.writeBigInt64LE(0n, words + 16);
  },
  "a page that is free twice": (file) => {
    const { words, count } = freeEntry(file);
    const list = Array.from({ length: count }, (_, i) => file.readBigInt64LE(words + 8 + 8 * i));
    const page = list.find((word) => word > 0n)!;
    for (const at of [words + 8, words + 16]) file.writeBigInt64LE(page, at);
  },
  "free pages of no transaction": (file) => {
    file.writeBigInt64LE(0n, freeEntry(file).words - 8);
  },
  "a longer key in the free list": (file) => {
    const { node } = freeEntry(file);
    file.writeUInt16LE(9, node + 6);
  },
  "a free list of another order": (file) => file.writeUInt16LE(0, newestRoot(file) + 52),
  "entries with duplicates": (file) => file.writeUInt16LE(0x104, newestRoot(file) + 100),
  "an older root page that is the newest": (file) => {
    const older = 4096 - newestRoot(file);
    file.writeBigUInt64LE(file.readBigUInt64LE(older + 152) + 2n, older + 152);
  },
  "a newest root page that is older": (file) => {
    const newest = newestRoot(file);
    file.writeBigUInt64LE(file.readBigUInt64LE(newest + 152) - 2n, newest + 152);
  },
  "a last page far beyond the end": (file) => {
    file.writeBigUInt64LE(2n ** 40n, newestRoot(file) + 144);
  },
  "an encrypted file": (file) => file.writeUInt16LE(0x6008, 52),
  "another number of a root page": (file) => file.writeUInt8(0x40, 4096 + 3),
  "more pages behind a long value": (file) => {
    for (let page = 0; page < file.length; page += 4096) {
      if (file.readUInt16LE(page + 18) !== 4) continue;
      file.writeUInt32LE(file.readUInt32LE(page + 20) + 1, page + 20);
    }
  },
};

/** Where the root page is that counts: the one of the newest transaction. */
function newestRoot(file: Buffer): number {
  return file.readBigUInt64LE(152) > file.readBigUInt64LE(4096 + 152) ? 0 : 4096;
}

/** The longest entry of the free list: where its node and its words begin, and how many these are. */
function freeEntry(file: Buffer): { node: number; words: number; count: number } {
  const page = Number(file.readBigUInt64LE(newestRoot(file) + 88)) * 4096;
  const [leaf, length] = [file.readUInt16LE(page + 18), file.readUInt16LE(page + 20) / 2];
  const entries = Array.from({ length }, (_, index) => {
    const node = page + 24 + file.readUInt16LE(page + 24 + 2 * index);
    const words = node + 8 + 8;
    return { node, words, count: Number(file.readBigUInt64LE(words)) };
  });
  const [longest] = entries.sort((left, right) => right.count - left.count);
  assert.ok(leaf === 2 && longest!.count >= 2, "a short free list");
  return longest!;
}

function damaged(good: Buffer, random: Random, kind: number): Buffer {
  const bad = Buffer.from(good);
  const page = (): number => random.below(bad.length / 4096) * 4096;
  switch (kind) {
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
