import assert from "node:assert/strict";
import { seededRandom, type Random } from "#base";
import type { StoreEvent } from "./backend.ts";
import { WatchReader, type Subject } from "./suite-subject.ts";

/** An entry of the model. */
interface Version {
  readonly text: string;
  readonly created: number;
  readonly modified: number;
}

/** The state of the model at one revision: the entries below one prefix. */
type ModelState = ReadonlyMap<string, Version>;

/**
 * Compares random transactions with a pure model. The revision of a write is taken from the store, as it
 * may have other writers; everything else must equal the model.
 */
export function registerModelTests(subject: () => Subject): void {
  const seed = Date.now() % 1_000_000_007;
  it(`equals the model at every revision (seed ${seed})`, async function () {
    const random = seededRandom(seed);
    const s = subject();
    const { revision: start } = await s.write({ start: "x" });
    const states = new Map<number, ModelState>([
      [start, new Map([["start", createdVersion("x", start)]])],
    ]);
    let state = states.get(start)!;
    let newest = start;
    for (let step = 0; step < 250; step++) {
      const plan = planTransaction(random, state, step);
      const result = await s.backend.txn(toTransaction(s, plan));
      assert.equal(result.succeeded, plan.holds, `step ${step}`);
      if (!plan.holds) {
        const read = plan.otherwise.map((name) => state.get(name)?.text);
        assert.deepEqual(
          result.read.map((entry) => s.text(entry)),
          read,
        );
        continue;
      }
      const current = state;
      const changes = ([name, text]: readonly [string, string | undefined]): boolean =>
        text !== undefined || current.has(name);
      if (![...plan.writes].some(changes)) continue;
      assert.ok(result.revision > newest, "revisions grow");
      newest = result.revision;
      state = apply(state, plan.writes, newest);
      states.set(newest, state);
    }
    for (const [revision, expected] of states) {
      assert.equal(await s.list(revision), stateText(expected), `at ${revision}`);
    }
    assert.equal(await s.list(), stateText(state));
    await checkReplay(s, { start, newest, states });
  });
}

/** Checks that the events of a watch lead from each state of the model to the next. */
async function checkReplay(
  s: Subject,
  {
    start,
    newest,
    states,
  }: { start: number; newest: number; states: ReadonlyMap<number, ModelState> },
): Promise<void> {
  await using reader = new WatchReader(s.backend, { prefix: s.prefix, fromRevision: start });
  let state: ModelState = new Map();
  for (let done = false; !done;) {
    const { events } = (await reader.batch())!;
    for (const revision of new Set(events.map(eventRevision))) {
      const writes = new Map<string, string | undefined>();
      for (const event of events.filter((candidate) => eventRevision(candidate) === revision)) {
        const name = s.bare(event.type === "put" ? event.entry.key : event.key);
        assert.equal(s.text(event.previous), state.get(name)?.text, `previous of ${name}`);
        writes.set(name, event.type === "put" ? s.text(event.entry) : undefined);
      }
      state = apply(state, writes, revision);
      assert.equal(stateText(state), stateText(states.get(revision)!), `replayed to ${revision}`);
      done = revision === newest;
    }
  }
}

interface Plan {
  readonly compare: readonly { readonly name: string; readonly modRevision: number }[];
  readonly holds: boolean;
  readonly writes: ReadonlyMap<string, string | undefined>;
  readonly otherwise: readonly string[];
}

function planTransaction(random: Random, state: ModelState, step: number): Plan {
  const names = Array.from({ length: 12 }, (_, i) => `k${i}`);
  const some = () => Array.from({ length: random.below(4) }, () => random.pick(names));
  let holds = true;
  const compare = [...new Set(some())].map((name) => {
    const truth = state.get(name)?.modified ?? 0;
    if (random.below(5) > 0) return { name, modRevision: truth };
    holds = false;
    return { name, modRevision: truth === 0 ? 1 : random.pick([0, truth - 1]) };
  });
  const writes = new Map<string, string | undefined>();
  for (const name of some()) writes.set(name, random.below(3) > 0 ? `v${step}` : undefined);
  return { compare, holds, writes, otherwise: [...new Set(some())] };
}

function toTransaction(s: Subject, plan: Plan): Parameters<Subject["backend"]["txn"]>[0] {
  return {
    compare: plan.compare.map(({ name, modRevision }) => ({ key: s.key(name), modRevision })),
    then: [...plan.writes].map(([name, text]) =>
      text === undefined ? { delete: s.key(name) } : { put: s.key(name), value: s.bytes(text) },
    ),
    otherwise: plan.otherwise.map((name) => s.key(name)),
  };
}

function apply(
  state: ModelState,
  writes: ReadonlyMap<string, string | undefined>,
  revision: number,
): ModelState {
  const next = new Map(state);
  for (const [name, text] of writes) {
    if (text === undefined) next.delete(name);
    else {
      const created = state.get(name)?.created ?? revision;
      next.set(name, { text, created, modified: revision });
    }
  }
  return next;
}

function createdVersion(text: string, revision: number): Version {
  return { text, created: revision, modified: revision };
}

function stateText(state: ModelState): string {
  const names = [...state.keys()].sort();
  return names
    .map((name) => ({ name, ...state.get(name)! }))
    .map(({ name, text, created, modified }) => `${name}=${text} c${created} m${modified}`)
    .join(", ");
}

function eventRevision(event: StoreEvent): number {
  return event.type === "put" ? event.entry.modRevision : event.revision;
}
