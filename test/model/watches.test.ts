import assert from "node:assert/strict";
import { type Random, seededRandom, systemClock } from "#base";
import type { ItemEvent, ListOptions } from "#registry";
import { type Backend, memoryBackend, objectStore, StoreFault } from "#storage";
import { StatusError } from "#meta";
import { testRegistry, type TestRegistry } from "../../pkg/registry/testing.ts";
import { etcdBackend } from "../../pkg/storage/etcd/index.ts";
import { FaultyBackend } from "../../pkg/storage/cache/testing.ts";
import { type EtcdCluster, startEtcd } from "../../pkg/storage/etcd/testing.ts";

/**
 * The guarantee of watches under random traffic and faults: a client that lists, watches from there and
 * applies every event has at each revision the state that a list would have returned.
 */

const names = Array.from({ length: 8 }, (_, i) => `k${i}`);
const namespaces = ["a", "b"];
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

interface World {
  readonly api: TestRegistry;
  readonly random: Random;
  /** Ends the traffic. */
  readonly stop: AbortController;
  /** Number of writes so far. */
  writes: number;
  /** Whether an error is expected while the store is unavailable. */
  readonly tolerates: (error: unknown) => boolean;
}

/** Least number of writes of a meaningful run, also on a slow machine. */
const fewestWrites = 30;

/** Creates, updates and deletes random objects until the test stops it. */
async function write(world: World): Promise<void> {
  const { api, random, stop, tolerates } = world;
  let writes = 0;
  while (!stop.signal.aborted || writes < fewestWrites) {
    const path = `v1/configmaps/${random.pick(namespaces)}`;
    const name = random.pick(names);
    const labels = { app: random.pick(["x", "y"]) };
    const object = { metadata: { name, labels }, data: { n: String(writes) } };
    try {
      const what = random.below(4);
      if (what === 0) await api.remove(`${path}/${name}`);
      else if (what === 1) await api.post(path, object);
      else await api.patch(`${path}/${name}`, { metadata: { labels }, data: object.data });
      writes += 1;
      world.writes += 1;
    } catch (error) {
      const code = error instanceof StatusError ? error.code : 0;
      if (code !== 404 && code !== 409 && !tolerates(error)) throw error;
    }
    if (random.below(4) === 0) await pause(random.below(4));
  }
}

/** A watcher of one selection, with its state by namespace and name. */
class Observer {
  readonly state = new Map<string, number>();
  relists = 0;
  resumes = 0;
  events = 0;
  private seen = 0;
  private ended = false;

  constructor(
    private readonly world: World,
    private readonly path: string,
    private readonly selector: Partial<ListOptions>,
  ) {}

  end(): void {
    this.ended = true;
  }

  async run(): Promise<void> {
    let known = false;
    while (!this.ended) {
      if (!known) known = await this.list();
      if (known) known = await this.watch();
      else await pause(20);
    }
  }

  /** The state that a list returns now. */
  async truth(): Promise<ReadonlyMap<string, number>> {
    const { items } = await this.world.api.list(this.path, this.selector);
    const found = new Map<string, number>();
    for await (const item of items) found.set(item.key, item.revision);
    return found;
  }

  private async list(): Promise<boolean> {
    const { api, random, tolerates } = this.world;
    this.relists += 1;
    try {
      const resourceVersion = random.pick(["", "0"]);
      const list = await api.list(this.path, { ...this.selector, resourceVersion });
      // A list may be older than the observed state; the watch restarts from there.
      this.state.clear();
      for await (const item of list.items) this.state.set(item.key, item.revision);
      this.seen = list.revision;
      return true;
    } catch (error) {
      if (!tolerates(error)) throw error;
      return false;
    }
  }

  /** False if the resourceVersion to resume from has expired. */
  private async watch(): Promise<boolean> {
    const { api, random } = this.world;
    const controller = new AbortController();
    const target = { ...api.request(this.path), context: controller };
    const events = api.registry.watch(target, {
      labelSelector: "",
      fieldSelector: "",
      resourceVersionMatch: "",
      limit: 0,
      ...this.selector,
      continueToken: "",
      resourceVersion: String(this.seen),
      allowBookmarks: random.below(2) === 0,
      sendInitialEvents: undefined,
      timeoutSeconds: undefined,
    });
    const lifetime = setTimeout(() => controller.abort(), 50 + random.below(800));
    try {
      for await (const event of events) {
        if (event.type === "ERROR") {
          const { code } = event.status;
          assert.ok(code === 410 || code! >= 500, `${code} ${event.status.message}`);
          return code !== 410;
        }
        this.follow(event);
        // A slow watcher, now and then.
        if (random.below(40) === 0) await pause(random.below(60));
      }
      this.resumes += 1;
      return true;
    } finally {
      clearTimeout(lifetime);
      controller.abort();
    }
  }

  private follow(event: Exclude<ItemEvent, { type: "ERROR" }>): void {
    if (event.type === "BOOKMARK") {
      assert.ok(event.revision >= this.seen, "bookmarks do not go back");
      this.seen = event.revision;
      return;
    }
    const { type, item } = event;
    const what = `${type} ${item.key}@${item.revision} after ${this.seen}`;
    assert.ok(item.revision > this.seen, `${what}: in order, and once`);
    assert.equal(this.state.has(item.key), type !== "ADDED", `${what}: fits what was there`);
    assert.equal(item.object.metadata.resourceVersion, String(item.revision));
    this.seen = item.revision;
    this.events += 1;
    if (type === "DELETED") this.state.delete(item.key);
    else this.state.set(item.key, item.revision);
  }
}

const selections: readonly (readonly [string, Partial<ListOptions>])[] = [
  ["v1/configmaps", {}],
  ["v1/configmaps/a", {}],
  ["v1/configmaps", { labelSelector: "app=x" }],
  ["v1/configmaps/b", { labelSelector: "app!=x" }],
  ["v1/configmaps", { fieldSelector: "metadata.name=k3" }],
  ["v1/configmaps/a", { fieldSelector: "metadata.name=k3", labelSelector: "app in (x)" }],
  ["v1/configmaps", { fieldSelector: "metadata.namespace=b" }],
];

async function law(
  backend: Backend,
  options: {
    readonly seed: number;
    readonly tolerates: World["tolerates"];
    readonly disturb: (random: Random) => Promise<void>;
    readonly window?: number;
  },
): Promise<void> {
  const { seed, tolerates, disturb, window = 1000 } = options;
  const random = seededRandom(seed);
  const feed = { waitMs: 2000, nudgeMs: 5 };
  const store = objectStore(backend, {
    root: "/registry",
    reflector: feed,
    watchCache: { changes: window },
  });
  const api = await testRegistry({ store, clock: systemClock, namespaces, seed });
  const world: World = { api, random, stop: new AbortController(), writes: 0, tolerates };
  const observers = [...selections, ...selections].map(([path, selector]) => {
    return new Observer(world, path, selector);
  });
  const running = Promise.all(observers.map((observer) => observer.run()));
  running.catch(() => world.stop.abort());
  const writers = Array.from({ length: 4 }, () => write(world));
  const sum = (of: (observer: Observer) => number) => observers.map(of).reduce((a, b) => a + b, 0);
  const { length } = observers;
  /** Whether the run proves something; a slow machine takes longer. */
  const isEnough = (): boolean =>
    world.writes > 100 &&
    sum(({ events }) => events) > world.writes &&
    sum(({ resumes }) => resumes) > length;
  await disturb(random);
  for (let tries = 0; !isEnough() && !world.stop.signal.aborted && tries < 1000; tries++) {
    await pause(50);
  }
  world.stop.abort();
  await Promise.all(writers);
  await Promise.race([running, converged(observers)]);
  for (const observer of observers) observer.end();
  await running;
  assert.ok(isEnough() && sum(({ relists }) => relists) >= length, `seed ${seed}`);
}

/** Waits until the state of every watcher equals a list; fails after a time limit. */
async function converged(observers: readonly Observer[]): Promise<void> {
  const show = (state: ReadonlyMap<string, number>): string =>
    [...state]
      .map(([key, revision]) => `${key}@${revision}`)
      .sort()
      .join(" ");
  const until = Date.now() + 120_000;
  for (const observer of observers) {
    for (;;) {
      const truth = show(await observer.truth());
      if (show(observer.state) === truth) break;
      if (Date.now() > until) assert.equal(show(observer.state), truth, "everything was seen");
      await pause(20);
    }
  }
}

describe("watches deliver every change", () => {
  const seed = Date.now() % 1_000_000_007;

  it(`without faults (seed ${seed})`, async () => {
    await using backend = memoryBackend();
    await law(backend, { seed, tolerates: () => false, disturb: () => pause(1500) });
  });

  it(`while history is compacted quickly (seed ${seed})`, async () => {
    await using backend = memoryBackend();
    const disturb = async (): Promise<void> => {
      for (let i = 0; i < 20; i++) {
        await pause(75);
        await backend.compact(await backend.revision());
      }
    };
    await law(backend, { seed, tolerates: () => false, disturb, window: 10 });
  });

  it(`while the watch cache is reset repeatedly (seed ${seed})`, async () => {
    await using backend = new FaultyBackend(memoryBackend());
    const disturb = async (random: Random): Promise<void> => {
      for (let i = 0; i < 20; i++) {
        await pause(random.below(150));
        const detail = random.below(2) === 0 ? { kind: "too-slow" as const } : undefined;
        backend.cut(new StoreFault(detail ?? { kind: "compacted", oldest: 1 }));
        if (random.below(3) === 0) backend.hold();
        await pause(random.below(30));
        backend.release();
      }
    };
    const tolerates = (error: unknown): boolean => {
      return error instanceof StatusError && error.code >= 500;
    };
    await law(backend, { seed, tolerates, disturb });
  });

  describe("on etcd", () => {
    let etcd: EtcdCluster | undefined;
    before(async () => (etcd = await startEtcd()));
    after(() => etcd?.[Symbol.asyncDispose]());

    it(`while etcd is killed and restarted (seed ${seed})`, async () => {
      const [member] = etcd!.members;
      await using backend = etcdBackend({ endpoints: etcd!.endpoints });
      const disturb = async (random: Random): Promise<void> => {
        for (let i = 0; i < 3; i++) {
          await pause(500 + random.below(500));
          await member!.kill();
          await pause(random.below(500));
          await member!.start();
          await pause(1000);
          await backend.compact(await backend.revision());
        }
      };
      const tolerates = (error: unknown): boolean => {
        return error instanceof StatusError && error.code >= 500;
      };
      await law(backend, { seed, tolerates, disturb });
    });
  });
});
