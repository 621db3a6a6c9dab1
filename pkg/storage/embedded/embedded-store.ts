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

/** Bounds of an embedded store. */
export interface StoreLimits {
  readonly retention: Retention;
  /** Keys and values of one transaction, as etcd's --max-request-bytes. */
  readonly transactionBytes: number;
  /** UTF-8 bytes of a key. */
  readonly keyBytes: number;
  /** How often an idle watch learns the store's revision. */
  readonly progressMilliseconds: number;
}

interface EmbeddedOptions {
  readonly clock: Clock;
  readonly history: History;
  readonly limits: StoreLimits;
  /** Absent = what is written is gone with the process. */
  readonly journal?: Journal;
}

/** Keys that expire in one transaction at most; more follow at once. */
const EXPIRE_AT_ONCE = 500;

/**
 * A store inside the process: the newest state and its history in memory, on disk if there is a
 * journal.
 */
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
    const all = this.history.entriesAt(options.revision);
    const revision = this.history.state.revision;
    const one = to === undefined ? all.get(from) : undefined;
    const found = to !== undefined ? all.values(from, to, limit) : one === undefined ? [] : [one];
    const cut = to !== undefined && limit !== undefined && limit > 0 && found.length >= limit;
    const count = cut ? all.count(from, to) : found.length;
    return { entries: keysOnly ? found.map(withoutValue) : found, count, revision };
  }

  /** Runs a transaction; one that finds no space runs again if forgetting the history makes room. */
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

  /**
   * Copies content and past. Returns a function that opens stores in memory with them; no store sees
   * what another one writes later.
   */
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

  /** What the next transaction builds on; ahead of what is visible while a commit is under way. */
  get #head(): State {
    return this.#commits?.head ?? this.history.state;
  }

  #admit(signal: AbortSignal | undefined): void {
    if (this.#closed) throw new StoreFault({ kind: "closed" });
    signal?.throwIfAborted();
  }

  /**
   * An answer about a state may go out only when that state is durable: a crash must not unsay it.
   */
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
   * Compacts to the current revision: on a full disk, room for writes counts for more than the
   * history, which watches could resume from. Resolves to whether there was a history to forget.
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
    const keys = expired(this.#head, this.#clock.now(), EXPIRE_AT_ONCE);
    try {
      await this.txn({ compare: [], then: keys.map((key) => ({ delete: key })), otherwise: [] });
    } catch (error) {
      // Closed meanwhile, or the disk is full: the keys stay until the next write or start.
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
        const message = `a key has at most ${this.#limits.keyBytes} bytes, not ${length}`;
        throw new StoreFault({ kind: "too-large", message });
      }
      bytes += length + ("put" in operation ? operation.value.byteLength : 0);
    }
    if (bytes > this.#limits.transactionBytes) {
      const most = this.#limits.transactionBytes;
      const message = `a transaction has at most ${most} bytes, not ${bytes}`;
      throw new StoreFault({ kind: "too-large", message });
    }
  }
}

const nothing = new Uint8Array(0);

function withoutValue({ key, createRevision, modRevision }: Entry): Entry {
  return { key, value: nothing, createRevision, modRevision };
}
