import type { Change, Operation, Told, Version, Write } from "./history.ts";

/**
 * Whether what clients saw can be explained by the changes that the store made, one after the
 * other, each in an instant between its request and its answer (linearizability). Since the store
 * numbers its changes, nothing has to be searched for: a read fits if its answer was true at a
 * revision that is not older than what was known when it began, and not newer than what can have
 * been there when it ended. Answers one sentence for each thing that does not fit.
 */
export function checkHistory(
  operations: readonly Operation[],
  changes: readonly Change[],
): readonly string[] {
  const past = new Past(changes);
  return [...checkWrites(operations.filter(isWrite), past), ...checkOrder(operations, past)];
}

function isWrite(operation: Operation): operation is Write {
  return operation.kind === "write";
}

/** The states of the store. */
class Past {
  readonly #byKey = new Map<string, Change[]>();

  constructor(readonly changes: readonly Change[]) {
    for (const change of changes) {
      const known = this.#byKey.get(change.key);
      if (known === undefined) this.#byKey.set(change.key, [change]);
      else known.push(change);
    }
  }

  of(key: string): readonly Change[] {
    return this.#byKey.get(key) ?? [];
  }

  get keys(): Iterable<string> {
    return this.#byKey.keys();
  }

  /** Version of a key at a revision. */
  at(key: string, revision: number): Version | undefined {
    const changes = this.of(key);
    const last = changes[countUpTo(changes, revision) - 1];
    return last?.value === undefined ? undefined : { revision: last.revision, value: last.value };
  }

  stateAt(revision: number): Map<string, Version> {
    const state = new Map<string, Version>();
    for (const key of this.keys) {
      const version = this.at(key, revision);
      if (version !== undefined) state.set(key, version);
    }
    return state;
  }
}

/** How many changes there are up to a revision. */
function countUpTo(changes: readonly Change[], revision: number): number {
  let low = 0;
  let high = changes.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (changes[middle]!.revision <= revision) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Nothing that was acknowledged is lost, nothing happens twice, and nothing that was refused. */
function checkWrites(writes: readonly Write[], past: Past): readonly string[] {
  const faults: string[] = [];
  const byValue = new Map(writes.map((write) => [write.value, write]));
  const deletions = new Map<string, Write[]>();
  for (const write of writes) {
    if (write.value !== undefined) continue;
    const name = `${write.key} ${write.expected}`;
    deletions.set(name, [...(deletions.get(name) ?? []), write]);
  }
  const seen = new Set<string>();
  for (const change of past.changes) {
    const { key, value, revision } = change;
    const write = value === undefined ? deletionOf(change, deletions, past) : byValue.get(value);
    const what = `change ${revision} of ${key}`;
    if (write === undefined) faults.push(`${what} was requested by no client`);
    else if (write.outcome === "refused") faults.push(`${what} was refused, but happened`);
    if (value === undefined || write === undefined) continue;
    if (seen.has(value)) faults.push(`${what} happened twice`);
    seen.add(value);
    faults.push(...checkExpected(write, change, past));
  }
  for (const write of writes) {
    if (write.outcome !== "done") continue;
    const happened = past.of(write.key).some((change) => isOutcome(change, write, past));
    if (!happened) faults.push(`the acknowledged write ${described(write)} is lost`);
  }
  return faults;
}

function described({ key, value, revision }: Write): string {
  return `of ${key} to ${value ?? "nothing"} (revision ${revision ?? "unknown"})`;
}

function isOutcome(change: Change, write: Write, past: Past): boolean {
  if (write.value === undefined) return deletes(write, change, past);
  return change.value === write.value && change.revision === write.revision;
}

/** Deletions name the version that they delete, so that each can be found again. */
function deletes(write: Write, change: Change, past: Past): boolean {
  if (change.value !== undefined || write.value !== undefined) return false;
  return past.at(change.key, change.revision - 1)?.revision === write.expected;
}

function deletionOf(
  { key, revision }: Change,
  deletions: ReadonlyMap<string, readonly Write[]>,
  past: Past,
): Write | undefined {
  const candidates = deletions.get(`${key} ${past.at(key, revision - 1)?.revision}`) ?? [];
  return candidates.find(({ outcome }) => outcome !== "refused") ?? candidates[0];
}

/** A compare-and-swap found what it compared with. */
function checkExpected(write: Write, change: Change, past: Past): readonly string[] {
  const { expected } = write;
  if (expected === undefined) return [];
  const before = past.at(change.key, change.revision - 1)?.revision ?? 0;
  if (before === expected) return [];
  return [`change ${change.revision} of ${change.key} replaced ${before} instead of ${expected}`];
}

/** Every operation takes effect between its beginning and its end. */
function checkOrder(operations: readonly Operation[], past: Past): readonly string[] {
  const faults: string[] = [];
  const byStart = [...operations].sort((a, b) => a.start - b.start);
  const started = laterWrites(byStart);
  /** Operations with the revision that they prove once they have ended, which is their order. */
  const proven: Proven[] = [];
  let ended = 0;
  let least = 0;
  for (const operation of byStart) {
    for (; ended < proven.length && proven[ended]!.end < operation.start; ended++) {
      least = Math.max(least, proven[ended]!.revision);
    }
    const fit = fitting(operation, least, past);
    if (fit === undefined) continue;
    if (typeof fit === "string") {
      faults.push(fit);
      continue;
    }
    if (fit >= started(operation.end)) {
      faults.push(`an answer from before revision ${fit} was asked for shows it`);
    }
    insert(proven, { end: operation.end, revision: fit });
  }
  return faults;
}

/** The lowest revision among acknowledged writes that began after a moment. */
function laterWrites(byStart: readonly Operation[]): (moment: number) => number {
  const lowest: { readonly start: number; readonly revision: number }[] = [];
  let revision = Number.POSITIVE_INFINITY;
  for (const operation of [...byStart].reverse()) {
    if (operation.kind !== "write" || operation.revision === undefined) continue;
    revision = Math.min(revision, operation.revision);
    lowest.push({ start: operation.start, revision });
  }
  return (moment) =>
    lowest.findLast(({ start }) => start > moment)?.revision ?? Number.POSITIVE_INFINITY;
}

interface Proven {
  readonly end: number;
  readonly revision: number;
}

/** Nearly always at the end. */
function insert(sorted: Proven[], value: Proven): void {
  const before = sorted.findLastIndex(({ end }) => end <= value.end);
  sorted.splice(before + 1, 0, value);
}

/**
 * The oldest revision at which the operation can have taken effect, or the reason why there is
 * none.
 */
function fitting(operation: Operation, least: number, past: Past): number | string | undefined {
  switch (operation.kind) {
    case "write": {
      const { revision } = operation;
      if (revision === undefined || revision > least) return revision;
      return `the write ${described(operation)} came after revision ${least} was known`;
    }
    case "list": {
      const { revision, found } = operation;
      if (revision < least) return `a list of revision ${revision} is older than ${least}`;
      return same(found, past.stateAt(revision)) ? revision : `a list of ${revision} is wrong`;
    }
    case "read": {
      const { key, found } = operation;
      const changes = past.of(key);
      const later = changes.slice(countUpTo(changes, least));
      const moments = [least, ...later.map((change) => change.revision)];
      const fit = moments.find((moment) => past.at(key, moment)?.revision === found?.revision);
      const shown = found === undefined ? "nothing" : `revision ${found.revision}`;
      return fit ?? `a read of ${key} shows ${shown}, which ${least} had replaced already`;
    }
  }
}

function same(a: ReadonlyMap<string, Version>, b: ReadonlyMap<string, Version>): boolean {
  if (a.size !== b.size) return false;
  return [...a].every(([key, { revision, value }]) => {
    const other = b.get(key);
    return other?.revision === revision && other.value === value;
  });
}

/**
 * Checks the guarantees of a watch: events are ordered and unique, none is missing, a bookmark
 * follows all events that it covers, a watch resumes where another ended, and finally all events
 * are delivered. `selects` returns whether the watcher selects a key.
 */
export function checkWatcher(
  told: readonly Told[],
  changes: readonly Change[],
  selects: (key: string) => boolean,
): readonly string[] {
  const past = new Past(changes.filter(({ key }) => selects(key)));
  const faults: string[] = [];
  let position = 0;
  for (const event of told) {
    if (event.type === "LISTED") {
      if (event.revision < position) faults.push(`a list of ${event.revision} is a step back`);
      if (!same(event.found, past.stateAt(event.revision))) {
        faults.push(`the list of revision ${event.revision} is wrong`);
      }
      position = event.revision;
      continue;
    }
    const revision = event.type === "BOOKMARK" ? event.revision : event.version.revision;
    const next = past.changes[countUpTo(past.changes, position)];
    if (event.type === "BOOKMARK") {
      if (next !== undefined && next.revision <= revision) {
        faults.push(`the bookmark ${revision} came before the event ${next.revision}`);
      }
    } else if (next?.revision !== revision || next.key !== event.key) {
      faults.push(`the event ${revision} came instead of ${next?.revision ?? "none"}`);
    } else if (event.type !== typeOf(next, past)) {
      faults.push(`the event ${revision} is reported as ${event.type}`);
    }
    position = Math.max(position, revision);
  }
  const missed = past.changes.length - countUpTo(past.changes, position);
  if (missed > 0) faults.push(`${missed} events after ${position} were not told`);
  return faults;
}

function typeOf({ key, value, revision }: Change, past: Past): Told["type"] {
  if (value === undefined) return "DELETED";
  return past.at(key, revision - 1) === undefined ? "ADDED" : "MODIFIED";
}
