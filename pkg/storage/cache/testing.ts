import { AsyncQueue } from "#base";
import {
  type Backend,
  type RangeOptions,
  StoreFault,
  type WatchBatch,
  type WatchOptions,
} from "../backend.ts";

/** A backend whose watch can be held up, cut off and restarted, and whose answers can fail. */
export interface Faulty extends Backend {
  /** Watches deliver nothing until `release`. */
  hold(): void;
  release(): void;
  /** Ends all watches with this fault, as after a compaction that a reconnect did not survive. */
  cut(fault: StoreFault): void;
  /** Calls to the store fail with this; undefined = they work. */
  down: StoreFault | undefined;
  /** Calls of `range`, by their options. */
  readonly ranges: RangeOptions[];
  /** Calls of `revision`. */
  revisions: number;
  progressRequests: number;
}

/** All calls pass to `inner`; its watches stand where they are held. */
export function faulty(inner: Backend): Faulty {
  let gate: { readonly open: () => void; readonly opened: Promise<void> } | undefined;
  const watches = new Set<AsyncQueue<WatchBatch>>();
  const opened = async (): Promise<void> => {
    await gate?.opened;
    if (gate !== undefined) await opened();
  };
  const up = (): void => {
    if (self.down !== undefined) throw self.down;
  };
  const self: Faulty = {
    down: undefined,
    ranges: [],
    revisions: 0,
    progressRequests: 0,
    get oldest() {
      return inner.oldest ?? 0;
    },
    hold() {
      let open = (): void => undefined;
      const opened = new Promise<void>((resolve) => (open = resolve));
      gate ??= { open, opened };
    },
    release() {
      gate?.open();
      gate = undefined;
    },
    cut(fault) {
      for (const queue of watches) queue.fail(fault);
      watches.clear();
    },
    async get(key, options) {
      up();
      return inner.get(key, options);
    },
    async range(options) {
      self.ranges.push(options);
      up();
      return inner.range(options);
    },
    txn: (transaction) => inner.txn(transaction),
    watch(options: WatchOptions) {
      const queue = new AsyncQueue<WatchBatch>(100_000);
      const ended = new AbortController();
      const signal = AbortSignal.any([options.signal, ended.signal]);
      watches.add(queue);
      void (async () => {
        try {
          for await (const batch of inner.watch({ ...options, signal })) {
            await opened();
            if (!queue.push(batch)) return ended.abort();
          }
          queue.end();
        } catch (error) {
          queue.fail(error);
        }
      })();
      return queue;
    },
    requestProgress() {
      self.progressRequests += 1;
      inner.requestProgress();
    },
    compact: (revision) => inner.compact(revision),
    async revision(signal) {
      self.revisions += 1;
      up();
      return inner.revision(signal);
    },
    [Symbol.asyncDispose]: () => inner[Symbol.asyncDispose](),
  };
  return self;
}
