import { type Clock, heldDuring, realClock } from "#base";
import {
  StoreFault,
  type Backend,
  type Entry,
  type RangeOptions,
  type RangeResult,
  type Transaction,
  type TransactionResult,
  type WatchBatch,
  type WatchOptions,
} from "../backend.ts";
import { Alarm } from "./alarm.ts";
import { CommitQueue } from "./commit-queue.ts";
import { type History, type Retention } from "./history.ts";
import type { Journal } from "./journal.ts";
import { expired, holds, nextDeadline, write, type State, type Step } from "./state.ts";
import { Watcher, type Watched } from "./watcher.ts";

/** Limits of an embedded store. */
export interface StoreLimits {
  readonly retention: Retention;
  /** Maximum size of the keys and values of a transaction, like etcd's --max-request-bytes. */
  readonly transactionBytes: number;
  /** Maximum length of a key in UTF-8 bytes. */
  readonly keyBytes: number;
  /** Interval of progress notifications of watches. */
  readonly progressMilliseconds: number;
}

interface EmbeddedOptions {
  readonly clock: Clock;
  readonly history: History;
  readonly limits: StoreLimits;
  /** Absent = the store is not durable. */
  readonly journal?: Journal;
}

/** Maximum number of expired keys that one transaction deletes. */
const maxExpiredPerTurn = 500;

/** A store in the process: state and history in memory, and on disk with a journal. */
export class EmbeddedStore implements Backend, Watched {
  readonly history: History;
  readonly #clock: Clock;
  readonly #limits: StoreLimits;
  readonly #journal: Journal | undefined;
  readonly #commits: CommitQueue | undefined;
  readonly #watchers = new Set<Watcher>();
  readonly #expiry: Alarm;
  readonly #progress: Alarm;
  #closed = false;
  #makingRoom: Promise<boolean> | undefined;

  constructor({ clock, history, limits, journal }: EmbeddedOptions) {
    this.history = history;
    this.#clock = clock;
    this.#limits = limits;
    this.#journal = journal;
    this.#commits =
      journal &&
      new CommitQueue({
        journal,
        published: () => history.state,
        publish: (step, time) => this.#publish(step, time),
        oldest: () => history.oldest,
      });
    this.#expiry = new Alarm(clock, () => void this.#expire());
    this.#progress = new Alarm(realClock(clock), () => {
      this.requestProgress();
      this.#scheduleProgress();
    });
    this.#expiry.set(nextDeadline(history.state));
  }

  async get(
    key: string,
    options: { readonly revision?: number; readonly signal?: AbortSignal } = {},
  ): Promise<{ readonly entry: Entry | undefined; readonly revision: number }> {
    this.#admit(options.signal);
    const entry = this.history.entriesAt(options.revision).get(key);
    return { entry, revision: this.history.state.revision };
  }

  async range(options: RangeOptions): Promise<RangeResult> {
    this.#admit(options.signal);
    const { from, to, limit, keysOnly } = options;
    const state = this.history.entriesAt(options.revision);
    const revision = this.history.state.revision;
    const single = to === undefined ? state.get(from) : undefined;
    const entries =
      to === undefined ? (single === undefined ? [] : [single]) : state.values(from, to, limit);
    const isLimited =
      to !== undefined && limit !== undefined && limit > 0 && entries.length >= limit;
    const count = isLimited ? state.count(from, to) : entries.length;
    return { entries: keysOnly ? entries.map(withoutValue) : entries, count, revision };
  }

  /** Runs a transaction; if there is no space, compacts the history and runs it again. */
  async txn(transaction: Transaction): Promise<TransactionResult> {
    try {
      return await this.#attempt(transaction);
    } catch (error) {
      const isFull = error instanceof StoreFault && error.detail.kind === "no-space";
      if (!isFull || !(await this.#makeRoom())) throw error;
      return this.#attempt(transaction);
    }
  }

  async #attempt(transaction: Transaction): Promise<TransactionResult> {
    this.#admit(transaction.signal);
    this.#checkSize(transaction);
    const head = this.#head;
    if (!holds(head, transaction.compare)) {
      await this.#visible(head);
      const read = transaction.otherwise.map((key) => head.entries.get(key));
      return { succeeded: false, revision: head.revision, read };
    }
    const now = this.#clock.now();
    const step = write(head, transaction.then, now);
    if (step.events.length === 0) await this.#visible(head);
    else if (this.#commits !== undefined) await this.#commit(this.#commits, step);
    else this.#publish(step, realClock(this.#clock).now());
    return { succeeded: true, revision: step.state.revision, read: [] };
  }

  #commit(commits: CommitQueue, step: Step): Promise<void> {
    const time = realClock(this.#clock).now();
    return heldDuring(this.#clock, "commits to disk", () => commits.add(step, time));
  }

  watch(options: WatchOptions): AsyncIterable<WatchBatch> {
    this.#admit(undefined);
    return new Watcher(this, options);
  }

  requestProgress(): void {
    for (const watcher of this.#watchers) watcher.wantProgress();
  }

  async compact(revision: number): Promise<void> {
    this.#admit(undefined);
    const current = this.history.state.revision;
    if (revision > current) throw new StoreFault({ kind: "future-revision", current });
    void this.#forget(revision);
    await this.#commits?.settled();
  }

  get oldest(): number {
    return this.history.oldest;
  }

  async revision(signal?: AbortSignal): Promise<number> {
    this.#admit(signal);
    return this.history.state.revision;
  }

  /** Copies state and history; returns a function that creates independent in-memory stores from them. */
  snapshot(): (clock: Clock) => EmbeddedStore {
    this.#admit(undefined);
    const past = this.history.fork();
    const limits = this.#limits;
    return (clock) => new EmbeddedStore({ clock, history: past.fork(), limits });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#expiry[Symbol.dispose]();
    for (const watcher of this.#watchers) watcher.fail(new StoreFault({ kind: "closed" }));
    this.#progress[Symbol.dispose]();
    await this.#commits?.idle();
    await this.#journal?.close();
  }

  opened(watcher: Watcher): void {
    this.#watchers.add(watcher);
    if (this.#watchers.size === 1) this.#scheduleProgress();
  }

  closed(watcher: Watcher): void {
    this.#watchers.delete(watcher);
    if (this.#watchers.size === 0) this.#progress.set(undefined);
  }

  /** State that the next transaction is computed against; ahead of the visible one during a commit. */
  get #head(): State {
    return this.#commits?.head ?? this.history.state;
  }

  #admit(signal: AbortSignal | undefined): void {
    if (this.#closed) throw new StoreFault({ kind: "closed" });
    signal?.throwIfAborted();
  }

  /** Waits until a state is durable, before which a response must not depend on it. */
  async #visible(state: State): Promise<void> {
    if (state.revision > this.history.state.revision) await this.#commits!.settled();
  }

  #publish(step: Step, time: number): void {
    this.history.append(step, time);
    const target = this.history.overdue(this.#limits.retention, time);
    if (target !== undefined) void this.#forget(target);
    if (!this.#closed) this.#expiry.set(nextDeadline(step.state));
    for (const watcher of this.#watchers) watcher.wake();
  }

  async #forget(revision: number): Promise<void> {
    const dead = this.history.compact(revision);
    await this.#commits?.forget(dead);
  }

  /**
   * Compacts to the current revision: on a full disk, writes are more important than the history that
   * watches can resume from. Resolves to whether there was history to delete.
   */
  #makeRoom(): Promise<boolean> {
    this.#makingRoom ??= this.#forgetHistory().finally(() => {
      this.#makingRoom = undefined;
    });
    return this.#makingRoom;
  }

  async #forgetHistory(): Promise<boolean> {
    const { oldest, state } = this.history;
    if (oldest === state.revision) return false;
    return this.#forget(state.revision).then(
      () => true,
      () => false,
    );
  }

  async #expire(): Promise<void> {
    const keys = expired(this.#head, this.#clock.now(), maxExpiredPerTurn);
    try {
      await this.txn({ compare: [], then: keys.map((key) => ({ delete: key })), otherwise: [] });
    } catch (error) {
      // The store is closed or the disk is full: the keys expire after the next write or start.
      if (error instanceof StoreFault) return;
      throw error;
    }
    if (!this.#closed) this.#expiry.set(nextDeadline(this.history.state));
  }

  #scheduleProgress(): void {
    if (this.#watchers.size === 0) return;
    this.#progress.set(realClock(this.#clock).now() + this.#limits.progressMilliseconds);
  }

  #checkSize({ then }: Transaction): void {
    let bytes = 0;
    for (const operation of then) {
      const key = "put" in operation ? operation.put : operation.delete;
      const length = key.length * 3 <= this.#limits.keyBytes ? key.length : Buffer.byteLength(key);
      if (length > this.#limits.keyBytes) {
        const message = `the key has ${length} bytes, the limit is ${this.#limits.keyBytes}`;
        throw new StoreFault({ kind: "too-large", message });
      }
      bytes += length + ("put" in operation ? operation.value.byteLength : 0);
    }
    if (bytes > this.#limits.transactionBytes) {
      const limit = this.#limits.transactionBytes;
      const message = `the transaction has ${bytes} bytes, the limit is ${limit}`;
      throw new StoreFault({ kind: "too-large", message });
    }
  }
}

const nothing = new Uint8Array(0);

function withoutValue({ key, createRevision, modRevision }: Entry): Entry {
  return { key, value: nothing, createRevision, modRevision };
}
