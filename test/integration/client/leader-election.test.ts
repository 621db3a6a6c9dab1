import assert from "node:assert/strict";
import { type Clock, seededRandom } from "#base";
import {
  type Client,
  ConnectionError,
  RegistryClient,
  runElection,
  timesFault,
  defaultElectionTimes,
} from "#client";
import { skewed, SlowClock } from "../../../pkg/client/testing.ts";
import { type TestRegistry, testRegistry } from "../../../pkg/registry/testing.ts";

interface Candidate {
  readonly name: string;
  readonly running: Promise<void>;
  /** Stops the candidate. */
  readonly life: AbortController;
  /** "cut": requests do not arrive; "lost": requests arrive, responses do not. */
  network: "fine" | "cut" | "lost";
  /** Duration of each write in ms. */
  writeMs: number;
  leads: boolean;
}

describe("leader election", () => {
  let test: TestRegistry;
  let clock: SlowClock;
  let candidates: Candidate[];
  /** Candidates that became leader, in order. */
  let leaders: string[];
  let together: string[];

  beforeEach(async () => {
    test = await testRegistry({
      namespaces: ["kube-system"],
      gates: (gate) => gate === "CoordinatedLeaderElection",
    });
    clock = new SlowClock();
    candidates = [];
    leaders = [];
    together = [];
  });
  afterEach(async () => {
    for (const { life } of candidates) life.abort();
    await clock.pass(60_000);
    await Promise.all(candidates.map(({ running }) => running));
    assert.deepEqual(together, [], "two candidates have led at the same time");
  });

  function candidate(name: string, own: Clock = clock, coordinated = false): Candidate {
    const life = new AbortController();
    const made: Candidate = {
      name,
      life,
      network: "fine",
      writeMs: 0,
      leads: false,
      running: join(),
    };
    candidates.push(made);
    return made;

    async function join(): Promise<void> {
      await Promise.resolve();
      await runElection({
        ...defaultElectionTimes,
        client: throughNetwork(made),
        namespace: "kube-system",
        name: "lock",
        identity: name,
        clock: own,
        coordinated,
        random: seededRandom(name),
        signal: life.signal,
        lead: (term) => lead(made, term),
        report: () => undefined,
      });
    }
  }

  async function lead(one: Candidate, term: AbortSignal): Promise<void> {
    leaders.push(one.name);
    one.leads = true;
    const others = candidates.filter((each) => each !== one && each.leads);
    together.push(...others.map((each) => `${each.name} and ${one.name}`));
    await new Promise((resolve) => term.addEventListener("abort", resolve, { once: true }));
    one.leads = false;
  }

  function throughNetwork(one: Candidate): Client {
    const { signal } = new AbortController();
    const who = { user: test.request("v1/namespaces").user, userAgent: one.name };
    const client = new RegistryClient({ ...test, ...who, signal });
    const fault = () => new ConnectionError("no answer", false);
    const through = async <T>(work: () => Promise<T>): Promise<T> => {
      if (one.network === "cut") throw fault();
      const answer = await work();
      if (one.network === "lost") throw fault();
      return answer;
    };
    async function* watch(...call: Parameters<Client["watch"]>) {
      for await (const event of client.watch(...call)) {
        if (one.network !== "fine") throw fault();
        yield event;
      }
    }
    return Object.assign(Object.create(client) as Client, {
      watch: watch as Client["watch"],
      get: ((...call) => through(() => client.get(...call))) as Client["get"],
      create: ((...call) => through(() => client.create(...call))) as Client["create"],
      update: ((...call) =>
        through(async () => {
          if (one.writeMs > 0) await clock.sleep(one.writeMs);
          return client.update(...call);
        })) as Client["update"],
    });
  }

  async function lease(): Promise<any> {
    const item = await test.get("coordination.k8s.io/v1/leases/kube-system/lock");
    return item.object.spec;
  }

  it("records the holder and the acquire time, and renews the lease", async () => {
    candidate("a");
    await clock.pass(1);
    const first = await lease();
    assert.equal(first.holderIdentity, "a");
    assert.equal(first.leaseDurationSeconds, 15);
    assert.equal(first.leaseTransitions, 0);
    await clock.pass(60_000);
    const later = await lease();
    assert.equal(later.acquireTime, first.acquireTime);
    assert.ok(Date.parse(later.renewTime) - Date.parse(first.renewTime) >= 58_000);
    assert.deepEqual(leaders, ["a"]);
  });

  it("hands over immediately when the leader stops", async () => {
    const first = candidate("a");
    await clock.pass(1);
    candidate("b");
    await clock.pass(20_000);
    assert.deepEqual(leaders, ["a"]);
    first.life.abort();
    await clock.pass(1);
    assert.deepEqual(leaders, ["a", "b"]);
    assert.equal((await lease()).leaseTransitions, 1);
  });

  it("releases the lease", async () => {
    const first = candidate("a");
    await clock.pass(1);
    first.life.abort();
    await clock.pass(1);
    const free = await lease();
    assert.equal(free.holderIdentity, "");
    assert.equal(free.leaseDurationSeconds, 1);
  });

  it("releases the lease although it was changed concurrently", async () => {
    const first = candidate("a");
    await clock.pass(1);
    const labels = { changed: "yes" };
    await test.patch("coordination.k8s.io/v1/leases/kube-system/lock", { metadata: { labels } });
    first.life.abort();
    await clock.pass(1);
    assert.equal((await lease()).holderIdentity, "");
  });

  it("releases the lease although the server is slow", async () => {
    const first = candidate("a");
    await clock.pass(1);
    first.writeMs = defaultElectionTimes.renewDeadlineMs - 1_000;
    first.life.abort();
    await clock.pass(defaultElectionTimes.renewDeadlineMs);
    assert.equal((await lease()).holderIdentity, "");
  });

  it("does not release a lease that another candidate has taken", async () => {
    const first = candidate("a");
    await clock.pass(1);
    await assign({ holderIdentity: "b" });
    first.life.abort();
    await clock.pass(1);
    assert.equal((await lease()).holderIdentity, "b");
  });

  const lock = "coordination.k8s.io/v1/leases/kube-system/lock";
  const assign = (spec: object) => test.patch(lock, { spec });
  const assigned = (holderIdentity: string) => {
    const renewTime = new Date(clock.now()).toISOString().replace("Z", "000Z");
    const times = { renewTime, acquireTime: renewTime, leaseDurationSeconds: 5 };
    return { ...times, holderIdentity, strategy: "OldestEmulationVersion" };
  };

  it("acquires immediately a lease that the coordinator has assigned", async () => {
    await test.post("coordination.k8s.io/v1/leases/kube-system", {
      metadata: { name: "lock" },
      spec: { ...assigned("other") },
    });
    for (let moment = 0; moment < 20; moment++) {
      const name = `a${moment}`;
      const one = candidate(name, clock, true);
      await clock.pass(311 * moment);
      await assign(assigned(name));
      await clock.pass(1);
      assert.equal(one.leads, true, `round ${moment}`);
      one.life.abort();
      await clock.pass(1);
    }
  });

  it("does not lead while the coordinator prefers another candidate", async () => {
    const first = candidate("a", clock, true);
    await test.post("coordination.k8s.io/v1/leases/kube-system", {
      metadata: { name: "lock" },
      spec: { ...assigned("a"), leaseDurationSeconds: 30, preferredHolder: "b" },
    });
    await clock.pass(60_000);
    assert.deepEqual(leaders, []);
    assert.equal((await lease()).preferredHolder, "b");
    await assign({ ...assigned("a"), preferredHolder: null });
    await clock.pass(1);
    assert.equal(first.leads, true);
  });

  it("takes over as soon as the lease expires", async () => {
    const first = candidate("a");
    await clock.pass(1);
    candidate("b");
    await clock.pass(20_000);
    first.network = "cut";
    await clock.pass(15_000);
    assert.deepEqual(leaders, ["a", "b"]);
  });

  for (const network of ["cut", "lost"] as const) {
    it(`a leader whose network is ${network} stops before another one starts`, async () => {
      const first = candidate("a");
      await clock.pass(1);
      candidate("b");
      await clock.pass(20_000);
      first.network = network;
      await clock.pass(10_001);
      if (network === "cut") assert.equal(first.leads, false);
      first.network = "cut";
      await clock.pass(20_000);
      assert.deepEqual(leaders, ["a", "b"]);
    });
  }

  it("works with arbitrary clock skew", async () => {
    const first = candidate(
      "a",
      skewed(clock, () => -3_600_000),
    );
    await clock.pass(1);
    candidate(
      "b",
      skewed(clock, () => 7_200_000),
    );
    await clock.pass(120_000);
    assert.deepEqual(leaders, ["a"]);
    first.network = "cut";
    await clock.pass(14_000);
    assert.deepEqual(leaders, ["a"], "the lease was good for 15 seconds after it was last seen");
    await clock.pass(8_000);
    assert.deepEqual(leaders, ["a", "b"]);
  });

  it("never has two leaders under network faults and clock jumps", async () => {
    const random = seededRandom(8);
    const skews = [-50_000, 0, 50_000];
    for (const [index, name] of ["a", "b", "c"].entries()) {
      candidate(
        name,
        skewed(clock, () => skews[index]!),
      );
    }
    for (let step = 0; step < 120; step++) {
      skews[random.below(3)] = (random.next() - 0.5) * 7_200_000;
      const one = random.pick(candidates);
      one.network = random.pick(["fine", "fine", "cut", "lost"] as const);
      await clock.pass(random.below(9_000));
    }
    assert.ok(leaders.length > 2, `the lead has moved: ${leaders.join(" ")}`);
  });

  it("does not extend an expired lease on unrelated writes", async () => {
    const first = candidate("a");
    await clock.pass(1);
    candidate("b");
    await clock.pass(4_000);
    first.network = "cut";
    for (let second = 0; second < 25; second++) {
      const labels = { second: String(second) };
      await test.patch("coordination.k8s.io/v1/leases/kube-system/lock", { metadata: { labels } });
      await clock.pass(1_000);
    }
    assert.deepEqual(leaders, ["a", "b"]);
  });

  it("rejects inconsistent durations", () => {
    assert.equal(timesFault(defaultElectionTimes), undefined);
    assert.match(
      String(timesFault({ ...defaultElectionTimes, renewDeadlineMs: 15_000 })),
      /leaseDuration/,
    );
    assert.match(
      String(timesFault({ ...defaultElectionTimes, retryPeriodMs: 9_000 })),
      /retryPeriod/,
    );
  });
});
