import assert from "node:assert/strict";
import { setMaxListeners } from "node:events";
import { type Clock, seededRandom, systemClock } from "#base";
import { type Client, Informers, RegistryClient } from "#client";
import { type Catalog, internalError } from "#meta";
import type { Registry } from "#registry";
import { noInstruments, type User } from "#request";
import { quietTurns } from "../base/testing.ts";
import { type TestRegistry, testRegistry } from "../registry/testing.ts";
import type { ControllerContext } from "./controller-context.ts";

const tester: User = { name: "tester", uid: "", groups: ["system:masters"], extra: new Map() };

interface Parts {
  readonly registry: Registry;
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly report: (what: string, error: unknown) => void;
  /** Responds to paths of aggregated APIs. */
  readonly getRaw?: (path: string) => Promise<unknown>;
}

/** Context of controllers whose client calls the registry directly. */
export function contextOn(parts: Parts): ControllerContext {
  const client = new RegistryClient({ ...parts, user: tester, userAgent: "test" });
  const common = { ...parts, client, random: seededRandom(1) };
  return { ...common, informers: new Informers(common), instruments: noInstruments };
}

type Verb = "get" | "list" | "create" | "update" | "patch" | "delete" | "deleteCollection";

const writeVerbs: ReadonlySet<string> = new Set(["create", "update", "patch", "delete"]);

type Call = (...words: readonly [{ readonly plural: string }, ...unknown[]]) => unknown;

/** A client that routes calls through `around`, which gets the verb, the resource and the call. */
function intercepted(
  client: Client,
  around: (verb: string, plural: string, call: () => Promise<unknown>) => Promise<unknown>,
): Client {
  return new Proxy(client, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property, target);
      if (typeof value !== "function") return value;
      const verb = String(property);
      const method = value as Call;
      if (verb === "watch" || verb === "onServed") return method.bind(target);
      return (...words: Parameters<Call>) =>
        around(verb, words[0]?.plural, async () => method.apply(target, words));
    },
  });
}

/** Suspends the delivery of watch events, by plural of the resource. */
class WatchGate {
  private readonly held = new Map<string, Promise<void>>();
  private readonly openers = new Map<string, () => void>();

  /** Has no effect while the resource is held: `release` resumes every watch that waits. */
  hold(plural: string): void {
    if (this.held.has(plural)) return;
    this.held.set(plural, new Promise((resolve) => this.openers.set(plural, resolve)));
  }

  release(plural: string): void {
    this.openers.get(plural)?.();
    this.held.delete(plural);
  }

  releaseAll(): void {
    for (const plural of this.held.keys()) this.release(plural);
  }

  client(client: Client): Client {
    const watch: Client["watch"] = (resource, options) =>
      this.delayed(resource.plural, client.watch(resource, options));
    return new Proxy(client, {
      get: (target, property) => {
        if (property === "watch") return watch;
        const value: unknown = Reflect.get(target, property, target);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
  }

  private async *delayed<T>(plural: string, events: AsyncIterable<T>): AsyncGenerator<T> {
    for await (const event of events) {
      await this.held.get(plural);
      yield event;
    }
  }
}

/** A controller running on an in-memory registry, with its error reports recorded. */
export interface ControllerTest {
  readonly test: TestRegistry;
  /** Error reports of the controller: `what: error`. */
  readonly reports: readonly string[];
  /** Makes the next calls of the controller's client fail with a 500. */
  failNext(verb: Verb, plural: string, times: number): void;
  /** Does `work` before the next call of the controller's client, to provoke a race. */
  beforeNext(verb: Verb, plural: string, work: () => Promise<unknown>): void;
  /** Suspends and resumes the controller's informers of a resource, which makes them stale. */
  holdInformer(plural: string): void;
  releaseInformer(plural: string): void;
  /** Number of calls of the controller's client so far, including failed ones. */
  calls(verb: Verb, plural: string): number;
  /** Polls `what` and resolves with its first truthy result; rejects after a minute. */
  until<T>(what: () => Promise<T>): Promise<NonNullable<T>>;
  /** Stops the controller; rejects if it failed. */
  stop(): Promise<void>;
}

/** Starts a controller on a new registry, or on `test`. */
export async function startController(
  run: (context: ControllerContext) => Promise<void>,
  options: { readonly test?: TestRegistry } & Partial<Pick<Parts, "clock" | "getRaw">> = {},
): Promise<ControllerTest> {
  const test = options.test ?? (await testRegistry());
  const { clock = systemClock, getRaw } = options;
  const life = new AbortController();
  setMaxListeners(0, life.signal);
  const reports: string[] = [];
  const report = (what: string, error: unknown) => void reports.push(`${what}: ${String(error)}`);
  const context = contextOn({
    ...test,
    clock,
    signal: life.signal,
    report,
    ...(getRaw === undefined ? {} : { getRaw }),
  });
  const failures = new Map<string, number>();
  const calls = new Map<string, number>();
  const races = new Map<string, () => Promise<unknown>>();
  const client = intercepted(context.client, (verb, plural, call) => {
    const key = `${verb} ${plural}`;
    calls.set(key, (calls.get(key) ?? 0) + 1);
    const left = failures.get(key) ?? 0;
    failures.set(key, Math.max(left - 1, 0));
    if (left > 0) return Promise.reject(internalError("injected"));
    const race = races.get(key);
    races.delete(key);
    return race === undefined ? call() : race().then(call);
  });
  const gate = new WatchGate();
  const informers = new Informers({ ...context, client: gate.client(context.client) });
  const running = run({ ...context, client, informers });
  return {
    test,
    reports,
    failNext: (verb, plural, times) => void failures.set(`${verb} ${plural}`, times),
    beforeNext: (verb, plural, work) => void races.set(`${verb} ${plural}`, work),
    holdInformer: (plural) => gate.hold(plural),
    releaseInformer: (plural) => gate.release(plural),
    calls: (verb, plural) => calls.get(`${verb} ${plural}`) ?? 0,
    until,
    stop: async () => {
      life.abort();
      gate.releaseAll();
      await running;
      await informers.ended();
    },
  };
}

async function until<T>(what: () => Promise<T>): Promise<NonNullable<T>> {
  for (let tries = 0; ; tries++) {
    const found = await what();
    if (found) return found;
    if (tries > 10_000) throw new Error("the expected state was never reached");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

export interface CrashScenario {
  /** The controllers of the process that crashes. */
  readonly controllers: readonly ((context: ControllerContext) => Promise<void>)[];
  /**
   * Creates and changes objects as clients and kubelets would, and waits for the controllers with `until`.
   * Time advances only during `until`.
   */
  readonly play: (run: Pick<ControllerTest, "test" | "until">) => Promise<void>;
  /** Final state to compare, without generated names and times. */
  readonly endState: (test: TestRegistry) => Promise<unknown>;
  /** Crash after every n-th write only, for scenarios with very many; default 1. */
  readonly stride?: number;
  /** Initial namespaces; default `ns`. */
  readonly namespaces?: readonly string[];
}

/**
 * Runs a scenario once without a crash, then once per write of the controllers (except Events): after that
 * write their process crashes before it gets the response, and another one takes over. Fails unless the end
 * state is final and the same each time. Returns the number of crashes.
 */
export async function crashAfterEveryWrite(scenario: CrashScenario): Promise<number> {
  const wanted = await playWithCrash(scenario, Infinity);
  let crashes = 0;
  for (let write = 1; ; write += scenario.stride ?? 1) {
    const found = await playWithCrash(scenario, write, wanted.state);
    if (!found.hasCrashed) return crashes;
    crashes++;
    assert.deepEqual(found.state, wanted.state, `after a crash at write ${write}`);
  }
}

/** Clock advance between two reads of the state, so that delays and backoffs expire. */
const stepMs = 250;
/** Number of equal reads after which a state is final. */
const finalLooks = 20;

async function playWithCrash(
  { controllers, play, endState, namespaces = ["ns"] }: CrashScenario,
  crashAt: number,
  wanted?: unknown,
): Promise<{ readonly state: unknown; readonly hasCrashed: boolean }> {
  const test = await testRegistry({ namespaces });
  const processes = new CrashingProcesses(test, controllers, crashAt);
  const step = async () => {
    processes.check();
    test.clock.advance(stepMs);
    await quietTurns(5);
  };
  const untilInSteps: ControllerTest["until"] = async (what) => {
    for (let tries = 0; ; tries++) {
      const found = await what();
      if (found) return found;
      if (tries > 2_000) throw new Error(`the expected state was never reached: crash ${crashAt}`);
      await step();
    }
  };
  const settled = async () => {
    let last = { state: "", writes: -1 };
    for (let looks = 0, tries = 0; looks < finalLooks; tries++) {
      // The comparison of states then reports the difference, unless only writes continue.
      if (tries > 2_000 && processes.writes === last.writes) return;
      if (tries > 2_000) assert.fail(`the controllers never stop writing: crash ${crashAt}`);
      const now = { state: JSON.stringify(await endState(test)), writes: processes.writes };
      const isWanted = wanted === undefined || now.state === JSON.stringify(wanted);
      looks = isWanted && now.state === last.state && now.writes === last.writes ? looks + 1 : 0;
      last = now;
      await step();
    }
  };
  processes.start();
  try {
    await play({ test, until: untilInSteps });
    await settled();
    return { state: await endState(test), hasCrashed: processes.hasCrashed };
  } finally {
    await processes.stop();
  }
}

/** Runs controllers in a simulated process that crashes after a given write, then in another one. */
class CrashingProcesses {
  /** Number of successful writes so far, except of Events. */
  writes = 0;
  hasCrashed = false;
  private life = new AbortController();
  private running: Promise<unknown> = Promise.resolve();
  private fault: unknown;

  constructor(
    private readonly test: TestRegistry,
    private readonly controllers: CrashScenario["controllers"],
    private readonly crashAt: number,
  ) {}

  start(): void {
    const life = new AbortController();
    this.life = life;
    setMaxListeners(0, life.signal);
    const report = () => undefined;
    const context = contextOn({ ...this.test, signal: life.signal, report });
    const client = intercepted(context.client, async (verb, plural, call) => {
      life.signal.throwIfAborted();
      const result = await call();
      life.signal.throwIfAborted();
      const isCounted = writeVerbs.has(verb) && plural !== "events";
      if (isCounted && ++this.writes === this.crashAt) this.crash();
      life.signal.throwIfAborted();
      return result;
    });
    const work = Promise.all(this.controllers.map((run) => run({ ...context, client })));
    this.running = work
      .then(() => context.informers.ended())
      .catch((error: unknown) => {
        if (!life.signal.aborted) this.fault = error;
      });
  }

  /** Throws the error that ended the controllers, if any. */
  check(): void {
    if (this.fault !== undefined) throw this.fault;
  }

  async stop(): Promise<void> {
    this.life.abort();
    await this.running;
    this.check();
  }

  private crash(): void {
    this.hasCrashed = true;
    this.life.abort(new Error("crashed"));
    this.start();
  }
}
