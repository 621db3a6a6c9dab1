import { chmodSync, closeSync, existsSync, fsyncSync, openSync, readFileSync } from "node:fs";
import { renameSync, statfsSync, statSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { open, type RootDatabase } from "lmdb";
import { StoreFault } from "../backend.ts";
import type { DeadVersion } from "./history.ts";
import type { Journal, JournalGroup } from "./journal.ts";
import { checkFile } from "./lmdb-check.ts";
import { claimDirectory } from "./owner.ts";
import { decodeHead, decodeVersion, encodeHead, encodeVersion, headKey } from "./record.ts";
import { versionKey, type Head, type VersionRecord } from "./record.ts";
import { firstRevision, type Step } from "./state.ts";

interface LmdbJournalOptions {
  /** Directory of the journal, created if absent. */
  readonly directory: string;
  /** Maximum size of all live versions in bytes, above which writes are rejected. */
  readonly quotaBytes: number;
}

/** The contents of a journal when it is opened. */
export interface Contents {
  readonly head: Head;
  /** Sorted by revision and position in the transaction. */
  readonly versions: readonly VersionRecord[];
}

/** Initial size of the memory map; it grows with the file. */
const mapBytes = 1024 * 1024 * 1024;
const dataFile = "data.mdb";
/** File that is created when the data file is complete: with it, a missing data file is data loss. */
const markerFile = "store.json";
/** Free disk space in bytes below which a failed write is attributed to a full disk. */
const fullBytes = 8 * 1024 * 1024;
/**
 * Free space in bytes, on disk or in the file, that writes of objects must leave for deletions and
 * compaction, which allocate new pages before they free old ones. The file never shrinks.
 */
const reserveBytes = 16 * 1024 * 1024;
const pageBytes = 4096;
/** Maximum size of values that share pages, which are two thirds full on average. */
const maxSharedBytes = 2000;
const sharedFactor = 1.5;
/** Approximate size of a version besides its value. */
const overheadBytes = 150;

/**
 * A journal in an LMDB file. LMDB writes changed pages to free space, syncs, and then writes and syncs
 * one of two alternating meta pages that refers to them, so that a crash in between leaves the previous
 * state. LMDB does not detect pages that are damaged later: therefore `checkFile` verifies the trees
 * before LMDB maps the file, every record has a checksum, and the head record contains their number.
 *
 * Each group has a sequence number and is applied only on top of its predecessor. If a second process
 * opens the directory despite the claim, it increments the number, and this process fails to write.
 */
export class LmdbJournal implements Journal {
  readonly #database: RootDatabase<Buffer, Buffer>;
  readonly #claim: Disposable;
  readonly #options: LmdbJournalOptions;
  #sequence = 0;
  #versions = 0;
  #bytes = 0;
  /** An estimate of the bytes of all pages in use. */
  #pageBytes = 0;
  #revision = firstRevision;

  private constructor(
    database: RootDatabase<Buffer, Buffer>,
    claim: Disposable,
    options: LmdbJournalOptions,
  ) {
    this.#database = database;
    this.#claim = claim;
    this.#options = options;
  }

  /** @throws StoreFault `unavailable` if another process has the journal open, `corrupt` if damaged */
  static async open(options: LmdbJournalOptions): Promise<LmdbJournal> {
    const claim = claimDirectory(options.directory);
    try {
      const file = join(options.directory, dataFile);
      const isNew = !existsSync(file) || statSync(file).size === 0;
      const isMarked = checkMarker(join(options.directory, markerFile));
      if (!isNew) checkFile(file);
      else if (isMarked) throw corrupt(`${file} is missing`);
      // LMDB creates world-readable files, but does not change the modes of existing ones.
      for (const name of [file, `${file}-lock`]) {
        closeSync(openSync(name, "a", 0o600));
        chmodSync(name, 0o600);
      }
      const database = open<Buffer, Buffer>({
        path: file,
        mapSize: mapBytes,
        keyEncoding: "binary",
        encoding: "binary",
        useVersions: true,
        overlappingSync: false, // a commit resolves after its sync
        eventTurnBatching: false, // commits are grouped here; its promise would reject unhandled
        maxReaders: 16,
      });
      return new LmdbJournal(database, claim, options);
    } catch (error) {
      claim[Symbol.dispose]();
      throw error instanceof StoreFault ? error : corrupt(String(error));
    }
  }

  /** Reads and verifies all records, and takes the journal over. Must be called before `commit`. */
  async load(): Promise<Contents> {
    const found = this.#database.getEntry(headKey);
    const head = found === undefined ? emptyHead : decodeHead(found.value);
    if (head === undefined) throw corrupt("the head record is damaged");
    if (head.format !== 1) throw corrupt(`unsupported format ${String(head.format)}`);
    const versions = this.#readVersions(found !== undefined);
    if (versions.length !== head.versions) {
      throw corrupt(`${versions.length} versions, expected ${head.versions}`);
    }
    const sequence = found?.version ?? 0;
    const take = (): void => settle(this.#database.put(headKey, encodeHead(head), sequence + 1));
    const taken = found
      ? await this.#database.ifVersion(headKey, sequence, take)
      : await this.#database.ifNoExists(headKey, take);
    if (!taken) throw takenOver(this.#options.directory);
    if (!found) markComplete(this.#options.directory);
    this.#sequence = sequence + 1;
    this.#versions = head.versions;
    this.#revision = head.revision;
    for (const { value } of versions) {
      this.#bytes += value.byteLength + overheadBytes;
      this.#pageBytes += pageBytesOf(value.byteLength);
    }
    return { head, versions };
  }

  async commit({ steps, dead, oldest }: JournalGroup): Promise<void> {
    const records = steps.flatMap(recordsOf);
    const bytes = this.#bytes + sizeOf(records) - sizeOfDead(dead);
    const grows = records.some((record) => !record.deleted);
    const { directory, quotaBytes } = this.#options;
    if (grows && bytes > quotaBytes) {
      const message = `the store in ${directory} has reached its quota of ${quotaBytes} bytes`;
      throw new StoreFault({ kind: "no-space", message });
    }
    if (grows && this.#isDiskFull) throw diskFull(directory);
    const versions = this.#versions + records.length - dead.length;
    const revision = steps[steps.length - 1]?.state.revision ?? this.#revision;
    const head = encodeHead({ format: 1, revision, oldest, versions });
    const next = this.#sequence + 1;
    const applied = await this.#apply(() => {
      for (const record of records) {
        const { key, content } = encodeVersion(record);
        settle(this.#database.put(key, content, next));
      }
      for (const version of dead) {
        settle(this.#database.remove(versionKey(version.revision, version.key)));
      }
      settle(this.#database.put(headKey, head, next));
    });
    if (!applied) throw takenOver(this.#options.directory);
    this.#sequence = next;
    this.#versions = versions;
    this.#revision = revision;
    this.#bytes = bytes;
    for (const { value } of records) this.#pageBytes += pageBytesOf(value.byteLength);
    for (const version of dead) this.#pageBytes -= pageBytesOf(version.bytes);
  }

  async close(): Promise<void> {
    await this.#database.close();
    this.#claim[Symbol.dispose]();
  }

  get #isDiskFull(): boolean {
    const { directory } = this.#options;
    const free = freeBytes(directory);
    if (free >= reserveBytes) return false;
    const reusable = statSync(join(directory, dataFile)).size - this.#pageBytes;
    return free + Math.max(0, reusable) < reserveBytes;
  }

  async #apply(write: () => void): Promise<boolean> {
    try {
      return await this.#database.ifVersion(headKey, this.#sequence, write);
    } catch (error) {
      throw await commitFault(error, this.#options.directory);
    }
  }

  #readVersions(hasHead: boolean): VersionRecord[] {
    const versions: VersionRecord[] = [];
    for (const { key, value } of this.#database.getRange({ start: Buffer.from([1]) })) {
      const record = decodeVersion(key, value);
      if (record === undefined) throw corrupt(`the record ${key.toString("hex")} is damaged`);
      versions.push(record);
    }
    if (!hasHead && versions.length > 0) throw corrupt("the head record is missing");
    return versions.sort((a, b) => a.revision - b.revision || a.index - b.index);
  }
}

const emptyHead: Head = {
  format: 1,
  revision: firstRevision,
  oldest: firstRevision,
  versions: 0,
};

export function corrupt(message: string): StoreFault {
  return new StoreFault({ kind: "corrupt", message });
}

function recordsOf({ state, events }: Step): VersionRecord[] {
  return events.map((event, index) => {
    if (event.type === "delete") {
      const { key, revision } = event;
      const value = new Uint8Array(0);
      return { key, revision, deleted: true, index, createRevision: 0, deadline: undefined, value };
    }
    const { key, value, createRevision, modRevision } = event.entry;
    const deadline = state.deadlineOf.get(key);
    return { key, revision: modRevision, deleted: false, index, createRevision, deadline, value };
  });
}

function sizeOf(records: readonly VersionRecord[]): number {
  return records.reduce((sum, { value }) => sum + value.byteLength + overheadBytes, 0);
}

function sizeOfDead(dead: readonly DeadVersion[]): number {
  return dead.reduce((sum, { bytes }) => sum + bytes + overheadBytes, 0);
}

function takenOver(directory: string): StoreFault {
  const message = `another process has taken over ${directory}`;
  return new StoreFault({ kind: "unavailable", message, maybeApplied: false });
}

/** Ignores the failure of a single write, which is reported once for its group. */
function settle(written: Promise<boolean>): void {
  written.catch(() => undefined);
}

/**
 * The fault of a failed commit. LMDB aborts a transaction without space and remains usable, but reports
 * a full disk as a general I/O error, so the free space is checked. Other failures are indeterminate.
 */
async function commitFault(error: unknown, directory: string): Promise<StoreFault> {
  // lmdb-js attaches a promise that rejects with the cause.
  const { commitError } = error as { readonly commitError?: Promise<unknown> };
  const cause: unknown = await commitError?.catch((reason: unknown) => reason);
  const message = cause instanceof Error ? cause.message : String(cause ?? error);
  const isFull = freeBytes(directory) < fullBytes;
  if (isFull || /MAP_FULL|ENOSPC|No space left/i.test(message)) {
    return diskFull(directory);
  }
  return new StoreFault({ kind: "unavailable", message, maybeApplied: true });
}

function diskFull(directory: string): StoreFault {
  const message =
    `the disk of ${directory} is full: ${freeBytes(directory)} bytes are free, and the store ` +
    `keeps ${reserveBytes} for deletions`;
  return new StoreFault({ kind: "no-space", message });
}

function pageBytesOf(bytes: number): number {
  if (bytes <= maxSharedBytes) return (bytes + overheadBytes) * sharedFactor;
  return Math.ceil((bytes + overheadBytes) / pageBytes) * pageBytes;
}

function freeBytes(directory: string): number {
  const { bavail, bsize } = statfsSync(directory);
  return bavail * bsize;
}

const markerText = '{"format":1}\n';

/** Whether the marker exists; throws StoreFault `corrupt` if its contents are wrong. */
function checkMarker(file: string): boolean {
  if (!existsSync(file)) return false;
  if (readFileSync(file, "utf8").trim() === markerText.trim()) return true;
  throw corrupt(`${file} is damaged: it must contain ${markerText.trim()}`);
}

/** Writes the marker, and syncs it and the directories so that the new files survive a power failure. */
function markComplete(directory: string): void {
  const file = join(directory, markerFile);
  const draft = openSync(`${file}.new`, "w", 0o600);
  writeSync(draft, markerText);
  syncAndClose(draft);
  renameSync(`${file}.new`, file);
  for (const path of [directory, dirname(directory)]) syncAndClose(openSync(path, "r"));
}

function syncAndClose(descriptor: number): void {
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
