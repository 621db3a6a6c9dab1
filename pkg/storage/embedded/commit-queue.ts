import { assert } from "#base";
import { StoreFault } from "../backend.ts";
import type { DeadVersion } from "./history.ts";
import type { Journal } from "./journal.ts";
import type { State, Step } from "./state.ts";

/** Maximum number of steps in one write to the journal. */
const maxGroupSize = 1024;

/** A step that is not durable yet, and therefore not visible to readers. */
interface Pending {
  readonly step: Step;
  readonly time: number;
  readonly done: PromiseWithResolvers;
}

interface PromiseWithResolvers {
  readonly promise: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (fault: StoreFault) => void;
}

interface CommitQueueOptions {
  readonly journal: Journal;
  /** The store's newest published state. */
  readonly published: () => State;
  /** Called for each durable step, in order of revision. */
  readonly publish: (step: Step, time: number) => void;
  readonly oldest: () => number;
}

/**
 * Group commit: while one group is being written, the next one is collected. Transactions are computed
 * against the newest step, durable or not, but a step becomes visible only when it is durable.
 *
 * Example: while the step of writer A is written, B and C compute theirs on top of it and wait. When A's
 * step is durable, it is published, and those of B and C are written with a single fsync.
 */
export class CommitQueue {
  readonly #options: CommitQueueOptions;
  #pending: Pending[] = [];
  #dead: DeadVersion[] = [];
  /** Settled when the dead versions have been deleted from the journal. */
  #forgotten: PromiseWithResolvers | undefined;
  #newest: Pending | undefined;
  #running: Promise<void> | undefined;
  #broken: StoreFault | undefined;
  #lastGroup = 0;

  constructor(options: CommitQueueOptions) {
    this.#options = options;
  }

  /** The state that the next transaction is computed against. */
  get head(): State {
    return this.#newest?.step.state ?? this.#options.published();
  }

  /** Resolves when the step is durable and published. */
  add(step: Step, time: number): Promise<void> {
    if (this.#broken !== undefined) return Promise.reject(this.#broken);
    const pending = { step, time, done: promiseWithResolvers() };
    assert(step.state.revision === this.head.revision + 1, "steps are consecutive");
    this.#newest = pending;
    this.#pending.push(pending);
    this.#start();
    return pending.done.promise;
  }

  /**
   * Deletes versions from the journal with one of the next groups, or alone after a group that failed
   * for lack of space. The promise may be ignored.
   */
  forget(dead: readonly DeadVersion[]): Promise<void> {
    if (dead.length === 0) return Promise.resolve();
    for (const version of dead) this.#dead.push(version);
    this.#forgotten ??= promiseWithResolvers();
    const { promise } = this.#forgotten;
    this.#start();
    return promise;
  }

  /** Resolves when all steps added so far are durable; rejects if they cannot be written. */
  async settled(): Promise<void> {
    await this.#newest?.done.promise;
    if (this.#broken !== undefined) throw this.#broken;
  }

  /** Resolves when no write is in progress, whether it succeeded or not. */
  async idle(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  get #hasWork(): boolean {
    return this.#broken === undefined && (this.#pending.length > 0 || this.#dead.length > 0);
  }

  #start(): void {
    if (this.#running === undefined && this.#hasWork) this.#running = this.#run();
  }

  async #run(): Promise<void> {
    while (this.#hasWork) {
      // Writers that the last group resolved add their next steps in this turn of the event loop, so
      // that waiting for it groups them again. A single writer does not wait.
      if (this.#lastGroup > 1) await new Promise<void>((resolve) => setImmediate(resolve));
      const group = this.#pending.splice(0, maxGroupSize);
      this.#lastGroup = group.length;
      const dead = this.#dead;
      this.#dead = [];
      const forgotten = this.#forgotten;
      this.#forgotten = undefined;
      try {
        const steps = group.map((pending) => pending.step);
        await this.#options.journal.commit({ steps, dead, oldest: this.#options.oldest() });
      } catch (error) {
        const fault = toFault(error);
        this.#dead = [...dead, ...this.#dead];
        this.#fail(group, fault);
        const isRetried = group.length > 0 && this.#broken === undefined;
        this.#forgotten = chain(forgotten, this.#forgotten);
        // The next write deletes only the dead versions, which needs no space.
        if (isRetried) continue;
        this.#forgotten?.reject(fault);
        this.#forgotten = undefined;
        break;
      }
      forgotten?.resolve();
      for (const pending of group) {
        this.#options.publish(pending.step, pending.time);
        if (this.#newest === pending) this.#newest = undefined;
        pending.done.resolve();
      }
    }
    // Synchronously after the check for work, so that no step is added in between.
    this.#running = undefined;
  }

  /** Rejects a failed group and all steps that were computed on top of it. */
  #fail(group: readonly Pending[], fault: StoreFault): void {
    if (fault.detail.kind !== "no-space") this.#broken = fault;
    const failed = [...group, ...this.#pending];
    this.#pending = [];
    this.#newest = undefined;
    for (const pending of failed) pending.done.reject(fault);
  }
}

/** Settles the second like the first. */
function chain(
  first: PromiseWithResolvers | undefined,
  second: PromiseWithResolvers | undefined,
): PromiseWithResolvers | undefined {
  if (first === undefined || second === undefined) return first ?? second;
  first.promise.then(second.resolve, second.reject);
  return first;
}

function promiseWithResolvers(): PromiseWithResolvers {
  let resolve!: () => void;
  let reject!: (fault: StoreFault) => void;
  const promise = new Promise<void>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  promise.catch(() => undefined); // the caller handles the rejection if it awaits the promise
  return { promise, resolve, reject };
}

function toFault(error: unknown): StoreFault {
  if (error instanceof StoreFault) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new StoreFault({ kind: "unavailable", message, maybeApplied: true });
}
