import { chmodSync, closeSync, existsSync, fsyncSync, openSync, readFileSync } from "node:fs";
import { renameSync, statfsSync, statSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { open, type RootDatabase } from "lmdb";
import { StoreFault } from "../backend.ts";
import type { DeadVersion } from "./history.ts";
import type { Journal, JournalGroup } from "./journal.ts";
import { checkFile } from "./lmdb-check.ts";
import { claimDirectory } from "./owner.ts";
import { decodeHead, decodeVersion, encodeHead, encodeVersion, HEAD_KEY } from "./record.ts";
import { versionKey, type Head, type VersionRecord } from "./record.ts";
import { FIRST_REVISION, type Step } from "./state.ts";

interface LmdbJournalOptions {
  /** Made when it is not there. */
  readonly directory: string;
  /** Bytes of all live versions together, beyond which writes are refused. */
  readonly quotaBytes: number;
}

/** What a journal holds when it is opened. */
export interface Contents {
  readonly head: Head;
  /** In order of revision, then of their place in the transaction. */
  readonly versions: readonly VersionRecord[];
}

/** Address space, not disk: the file grows as it is filled, and the map with it. */
const MAP_BYTES = 1024 * 1024 * 1024;
const FILE = "data.mdb";
/**
 * Its presence says that the data file was complete once: without that file, all is lost, not new.
 */
const MARKER = "store.json";
/** A disk with less room than this was full for a group of a few pages and its way up the tree. */
const FULL_BYTES = 8 * 1024 * 1024;
/**
 * Writes that add objects leave so much room on the disk or in the file: a deletion, and forgetting
 * what has been deleted, take new pages before they free old ones. The file never shrinks.
 */
const RESERVE_BYTES = 16 * 1024 * 1024;
const PAGE_BYTES = 4096;
/** Longer values take whole pages; others share pages, which are two thirds full on average. */
const LONGEST_SHARED = 2000;
const SHARED_FACTOR = 1.5;
/** What a version takes beside its value, roughly. */
const OVERHEAD_BYTES = 150;

/**
 * The journal in an LMDB file. LMDB writes changed pages to free places, syncs, and only then
 * writes (synced as well) one of two alternating root pages that refers to them. A crash in between
 * leaves the old root in force, so that a torn group is cut by not being referred to. What LMDB
 * itself does not detect is a page that changed later: for that, `checkFile` walks the trees before
 * LMDB may map them, every record has a checksum, and the head record says how many there are.
 *
 * Each group carries a sequence number and is applied only on top of the one before. A second
 * process that has opened the directory all the same has moved the number on, and this one can
 * write no more.
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
  #revision = FIRST_REVISION;

  private constructor(
    database: RootDatabase<Buffer, Buffer>,
    claim: Disposable,
    options: LmdbJournalOptions,
  ) {
    this.#database = database;
    this.#claim = claim;
    this.#options = options;
  }

  /**
   * Throws StoreFault `unavailable` when another process has it, `corrupt` when it cannot be
   * trusted.
   */
  static async open(options: LmdbJournalOptions): Promise<LmdbJournal> {
    const claim = claimDirectory(options.directory);
    try {
      const file = join(options.directory, FILE);
      const isNew = !existsSync(file) || statSync(file).size === 0;
      const isMarked = checkMarker(join(options.directory, MARKER));
      if (!isNew) checkFile(file);
      else if (isMarked) throw corrupt(`${file} is gone`);
      // LMDB makes its files readable for everyone, but leaves the modes of those that are there.
      for (const name of [file, `${file}-lock`]) {
        closeSync(openSync(name, "a", 0o600));
        chmodSync(name, 0o600);
      }
      const database = open<Buffer, Buffer>({
        path: file,
        mapSize: MAP_BYTES,
        keyEncoding: "binary",
        encoding: "binary",
        useVersions: true,
        overlappingSync: false, // a commit resolves after its sync
        eventTurnBatching: false, // groups are made here; its own promise would reject unheard
        maxReaders: 16,
      });
      return new LmdbJournal(database, claim, options);
    } catch (error) {
      claim[Symbol.dispose]();
      throw error instanceof StoreFault ? error : corrupt(String(error));
    }
  }

  /**
   * Reads and verifies everything, and takes the journal over. To be called once, before `commit`.
   */
  async load(): Promise<Contents> {
    const found = this.#database.getEntry(HEAD_KEY);
    const head = found === undefined ? emptyHead : decodeHead(found.value);
    if (head === undefined) throw corrupt("the head record is damaged");
    if (head.format !== 1) throw corrupt(`unknown format ${String(head.format)}`);
    const versions = this.#readVersions(found !== undefined);
    if (versions.length !== head.versions) {
      throw corrupt(`${versions.length} versions where there were ${head.versions}`);
    }
    const sequence = found?.version ?? 0;
    const take = (): void => settle(this.#database.put(HEAD_KEY, encodeHead(head), sequence + 1));
    const taken = found
      ? await this.#database.ifVersion(HEAD_KEY, sequence, take)
      : await this.#database.ifNoExists(HEAD_KEY, take);
    if (!taken) throw takenOver(this.#options.directory);
    if (!found) markComplete(this.#options.directory);
    this.#sequence = sequence + 1;
    this.#versions = head.versions;
    this.#revision = head.revision;
    for (const { value } of versions) {
      this.#bytes += value.byteLength + OVERHEAD_BYTES;
      this.#pageBytes += pageBytesOf(value.byteLength);
    }
    return { head, versions };
  }

  async commit({ steps, dead, oldest }: JournalGroup): Promise<void> {
    const records = steps.flatMap(recordsOf);
    const bytes = this.#bytes + sizeOf(records) - sizeOfDead(dead);
    const grows = records.some((record) => !record.deleted);
    if (grows && (bytes > this.#options.quotaBytes || this.#isDiskFull)) {
      throw new StoreFault({ kind: "no-space" });
    }
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
      settle(this.#database.put(HEAD_KEY, head, next));
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
    if (free >= RESERVE_BYTES) return false;
    const reusable = statSync(join(directory, FILE)).size - this.#pageBytes;
    return free + Math.max(0, reusable) < RESERVE_BYTES;
  }

  async #apply(write: () => void): Promise<boolean> {
    try {
      return await this.#database.ifVersion(HEAD_KEY, this.#sequence, write);
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
  revision: FIRST_REVISION,
  oldest: FIRST_REVISION,
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
  return records.reduce((sum, { value }) => sum + value.byteLength + OVERHEAD_BYTES, 0);
}

function sizeOfDead(dead: readonly DeadVersion[]): number {
  return dead.reduce((sum, { bytes }) => sum + bytes + OVERHEAD_BYTES, 0);
}

function takenOver(directory: string): StoreFault {
  const message = `another process has taken ${directory} over`;
  return new StoreFault({ kind: "unavailable", message, maybeApplied: false });
}

/** One write of a group: its failure is the group's, which is reported once. */
function settle(written: Promise<boolean>): void {
  written.catch(() => undefined);
}

/**
 * LMDB aborts a transaction that finds no room, and goes on; it reports a full disk as any error of
 * input and output, so the disk is asked. After another failure nothing is certain.
 */
async function commitFault(error: unknown, directory: string): Promise<StoreFault> {
  // A promise that rejects with the cause, beside an error that only says so.
  const { commitError } = error as { readonly commitError?: Promise<unknown> };
  const cause: unknown = await commitError?.catch((reason: unknown) => reason);
  const message = cause instanceof Error ? cause.message : String(cause ?? error);
  const isFull = freeBytes(directory) < FULL_BYTES;
  if (isFull || /MAP_FULL|ENOSPC|No space left/i.test(message)) {
    return new StoreFault({ kind: "no-space" });
  }
  return new StoreFault({ kind: "unavailable", message, maybeApplied: true });
}

function pageBytesOf(bytes: number): number {
  if (bytes <= LONGEST_SHARED) return (bytes + OVERHEAD_BYTES) * SHARED_FACTOR;
  return Math.ceil((bytes + OVERHEAD_BYTES) / PAGE_BYTES) * PAGE_BYTES;
}

function freeBytes(directory: string): number {
  const { bavail, bsize } = statfsSync(directory);
  return bavail * bsize;
}

const markerText = '{"format":1}\n';

/** Whether the marker is there. Throws `corrupt` for one that this program has not written. */
function checkMarker(file: string): boolean {
  if (!existsSync(file)) return false;
  if (readFileSync(file, "utf8").trim() === markerText.trim()) return true;
  throw corrupt(`${file} is damaged: it must contain ${markerText.trim()}`);
}

/** The names of a new file and of its directory must be as durable as what is in it. */
function markComplete(directory: string): void {
  const file = join(directory, MARKER);
  const draft = openSync(`${file}.new`, "w", 0o600);
  writeSync(draft, markerText);
  syncAndClose(draft);
  renameSync(`${file}.new`, file);
  for (const each of [directory, dirname(directory)]) syncAndClose(openSync(each, "r"));
}

function syncAndClose(descriptor: number): void {
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
