import assert from "node:assert/strict";
import { seededRandom, type Random } from "#base";
import type { StoreEvent } from "./backend.ts";
import { Tap, type Subject } from "./suite-subject.ts";

/** The whole meaning of a store, for keys below one prefix: what stands at each revision. */
interface Version {
  readonly text: string;
  readonly created: number;
  readonly modified: number;
}

type World = ReadonlyMap<string, Version>;

/**
 * Random transactions against a pure model. The store may have other writers elsewhere, so a
 * write's revision is taken from the store; everything else must be as the model says.
 */
export function registerModelTests(subject: () => Subject): void {
  const seed = Date.now() % 1_000_000_007;
  it(`does what the model does, at every revision (seed ${seed})`, async function () {
    const random = seededRandom(seed);
    const s = subject();
    const { revision: start } = await s.write({ start: "x" });
    const worlds = new Map<number, World>([[start, new Map([["start", born("x", start)]])]]);
    let world = worlds.get(start)!;
    let newest = start;
    for (let step = 0; step < 250; step++) {
      const plan = planTransaction(random, world, step);
      const result = await s.backend.txn(toTransaction(s, plan));
      assert.equal(result.succeeded, plan.holds, `step ${step}`);
      if (!plan.holds) {
        const read = plan.otherwise.map((name) => world.get(name)?.text);
        assert.deepEqual(
          result.read.map((entry) => s.text(entry)),
          read,
        );
        continue;
      }
      const current = world;
      const changes = ([name, text]: readonly [string, string | undefined]): boolean =>
        text !== undefined || current.has(name);
      if (![...plan.writes].some(changes)) continue;
      assert.ok(result.revision > newest, "revisions grow");
      newest = result.revision;
      world = apply(world, plan.writes, newest);
      worlds.set(newest, world);
    }
    for (const [revision, expected] of worlds) {
      assert.equal(await s.list(revision), showWorld(expected), `at ${revision}`);
    }
    assert.equal(await s.list(), showWorld(world));
    await checkReplay(s, { start, newest, worlds });
  });
}

/** What a watch from the start delivers must lead from each world to the next. */
async function checkReplay(
  s: Subject,
  { start, newest, worlds }: { start: number; newest: number; worlds: ReadonlyMap<number, World> },
): Promise<void> {
  await using tap = new Tap(s.backend, { prefix: s.prefix, fromRevision: start });
  let world: World = new Map();
  for (let done = false; !done;) {
    const { events } = (await tap.batch())!;
    for (const revision of new Set(events.map(at))) {
      const writes = new Map<string, string | undefined>();
      for (const event of events.filter((candidate) => at(candidate) === revision)) {
        const name = s.bare(event.type === "put" ? event.entry.key : event.key);
        assert.equal(s.text(event.previous), world.get(name)?.text, `previous of ${name}`);
        writes.set(name, event.type === "put" ? s.text(event.entry) : undefined);
      }
      world = apply(world, writes, revision);
      assert.equal(showWorld(world), showWorld(worlds.get(revision)!), `replayed to ${revision}`);
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

function planTransaction(random: Random, world: World, step: number): Plan {
  const names = Array.from({ length: 12 }, (_, i) => `k${i}`);
  const some = () => Array.from({ length: random.below(4) }, () => random.pick(names));
  let holds = true;
  const compare = [...new Set(some())].map((name) => {
    const truth = world.get(name)?.modified ?? 0;
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
  world: World,
  writes: ReadonlyMap<string, string | undefined>,
  revision: number,
): World {
  const next = new Map(world);
  for (const [name, text] of writes) {
    if (text === undefined) next.delete(name);
    else {
      const created = world.get(name)?.created ?? revision;
      next.set(name, { text, created, modified: revision });
    }
  }
  return next;
}

function born(text: string, revision: number): Version {
  return { text, created: revision, modified: revision };
}

function showWorld(world: World): string {
  const names = [...world.keys()].sort();
  return names
    .map((name) => ({ name, ...world.get(name)! }))
    .map(({ name, text, created, modified }) => `${name}=${text} c${created} m${modified}`)
    .join(", ");
}

function at(event: StoreEvent): number {
  return event.type === "put" ? event.entry.modRevision : event.revision;
}
