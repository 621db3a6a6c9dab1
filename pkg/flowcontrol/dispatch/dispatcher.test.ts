import assert from "node:assert/strict";
import { seededRandom } from "#base";
import type { LimitedSettings, PriorityLevelSettings } from "../contract.ts";
import { fair, type Result, TestDispatcher } from "../testing.ts";

const exempt: PriorityLevelSettings = {
  name: "exempt",
  type: "Exempt",
  nominalConcurrencyShares: 0,
  lendablePercent: 0,
};
const reject: LimitedSettings = {
  name: "reject",
  type: "Limited",
  nominalConcurrencyShares: 10,
  lendablePercent: 0,
};

/** A level with queues that lends and borrows. */
function lender(name: string, lendablePercent: number): LimitedSettings {
  const { queuing } = fair;
  return { name, type: "Limited", nominalConcurrencyShares: 10, lendablePercent, queuing };
}

describe("dispatcher", () => {
  it("admits immediately while seats are free, and releases them once", () => {
    const on = new TestDispatcher([fair], 2);
    const [first, second] = [on.startNow(), on.startNow()];
    assert.ok(first !== "waits" && first.admitted && second !== "waits" && second.admitted);
    assert.equal(first.waited, 0);
    assert.equal(on.startNow(), "waits");
    first.release();
    first.release();
    assert.equal(on.state().seatsInUse, 2);
    second.release();
    assert.equal(on.state().seatsInUse, 1);
  });

  it("admits waiting requests of a flow in order, with their wait time", async () => {
    const on = new TestDispatcher([fair], 1);
    const waits: number[] = [];
    for (let n = 0; n < 4; n++) {
      on.execute({ flow: "one" }, 10, (result) => waits.push(result.admitted ? result.waited : -1));
    }
    await on.clock.pass(100);
    assert.deepEqual(waits, [0, 10, 20, 30]);
  });

  it("rejects at a level without queues, but never at an exempt level", () => {
    const on = new TestDispatcher([exempt, reject], 1);
    on.execute({ level: "reject" }, 10);
    const refused = { admitted: false, reason: "concurrency-limit", retryAfter: 1 };
    assert.deepEqual(on.startNow({ level: "reject" }), refused);
    for (let n = 0; n < 100; n++) {
      const result = on.startNow({ level: "exempt", seats: 10 });
      assert.ok(result !== "waits" && result.admitted);
    }
    assert.equal(on.state("exempt").seatsInUse, 1000);
    assert.deepEqual(on.startNow({ level: "removed" }), refused);
  });

  it("divides the seats by shares, rounded up", () => {
    const levels = [
      { ...exempt, nominalConcurrencyShares: 5, lendablePercent: 50 },
      { ...lender("a", 33), nominalConcurrencyShares: 40, borrowingLimitPercent: 50 },
      { ...lender("b", 0), nominalConcurrencyShares: 55 },
    ];
    const on = new TestDispatcher(levels, 601);
    const limits = on.dispatcher
      .levels()
      .map((level) => [level.name, level.nominalLimit, level.lowerLimit, level.upperLimit]);
    assert.deepEqual(limits, [
      ["a", 241, 161, 362],
      ["b", 331, 331, 932],
      ["exempt", 31, 15, 632],
    ]);
    assert.equal(on.dispatcher.maxSeats("a"), 37);
    assert.equal(on.dispatcher.maxSeats("exempt"), undefined);
  });

  it("limits estimates to one seat if the limit is below the hand size", () => {
    const on = new TestDispatcher([fair], 3);
    assert.equal(on.dispatcher.maxSeats("fair"), 1);
  });

  it("lends seats by demand, and reclaims them for the lender's demand", async () => {
    const on = new TestDispatcher([lender("busy", 50), lender("idle", 50)], 100);
    const keepBusy = (level: string, clients: number, until: number) => {
      const again = () => {
        if (on.clock.monotonic() < until) on.execute({ level, flow: "x" }, 500, again);
      };
      for (let client = 0; client < clients; client++) again();
    };
    keepBusy("busy", 200, 60_000);
    await on.clock.pass(25_000);
    assert.equal(on.state("busy").currentLimit, 75);
    assert.equal(on.state("idle").currentLimit, 25);
    assert.equal(on.state("busy").seatsInUse, 75);
    keepBusy("idle", 200, 60_000);
    await on.clock.pass(25_000);
    assert.equal(on.state("busy").currentLimit, 50);
    assert.equal(on.state("idle").currentLimit, 50);
    await on.clock.pass(30_000);
    for (const level of ["busy", "idle"]) assert.equal(on.state(level).seatsInUse, 0);
  });

  it("lends unused seats of an exempt level", async () => {
    const sharing = { ...exempt, nominalConcurrencyShares: 10, lendablePercent: 100 };
    const on = new TestDispatcher([sharing, lender("busy", 0)], 100);
    const again = () => on.execute({ level: "busy" }, 500, again);
    for (let client = 0; client < 300; client++) again();
    await on.clock.pass(25_000);
    assert.equal(on.state("busy").currentLimit, 100);
    assert.equal(on.state("exempt").currentLimit, 0);
  });

  it("dispatches requests of a level without shares on borrowed seats", async () => {
    const poor = { ...lender("poor", 0), nominalConcurrencyShares: 0 };
    const on = new TestDispatcher([poor, lender("rich", 100)], 10);
    let done = 0;
    for (let n = 0; n < 20; n++) on.execute({ level: "poor" }, 10, () => done++);
    await on.clock.pass(60_000);
    assert.equal(done, 20);
  });

  it("retains waiting requests when levels and queues change", async () => {
    const random = seededRandom(21);
    const on = new TestDispatcher([exempt, fair], 10);
    const results: Result[] = [];
    let started = 0;
    for (let at = 0; at < 3000; at++) {
      on.clock.after(at, () => {
        if (!on.dispatcher.levels().some(({ name }) => name === "fair")) return;
        started++;
        on.execute({ flow: `${random.below(40)}` }, 8, (result) => results.push(result));
      });
    }
    for (let at = 0; at < 3000; at += 50) {
      on.clock.after(at, () => {
        const queues = 4 + random.below(60);
        const queuing = { queues, handSize: 1 + random.below(4), queueLengthLimit: 1000 };
        const changed: LimitedSettings = { ...fair, queuing };
        const options = [[changed], [exempt, changed], [exempt], [exempt, fair, lender("x", 9)]];
        on.dispatcher.configure(random.pick(options), 5 + random.below(20));
      });
    }
    on.clock.after(3000, () => on.dispatcher.configure([exempt, fair], 10));
    await on.clock.pass(60_000);
    assert.equal(results.length, started);
    assert.ok(results.every(({ admitted }) => admitted));
    const { seatsInUse, requestsWaiting } = on.state();
    assert.deepEqual({ seatsInUse, requestsWaiting }, { seatsInUse: 0, requestsWaiting: 0 });
  });

  it("removes a quiescing level after its last request, and divides its seats", async () => {
    const on = new TestDispatcher([lender("a", 0), lender("b", 0)], 10);
    const done: Result[] = [];
    for (let n = 0; n < 8; n++) on.execute({ level: "b" }, 10, (result) => done.push(result));
    on.dispatcher.configure([lender("a", 0)], 10);
    assert.equal(on.state("b").isQuiescing, true);
    assert.equal(on.state("a").nominalLimit, 5);
    await on.clock.pass(15);
    assert.equal(on.state("b").requestsExecuting, 3);
    await on.clock.pass(10);
    assert.equal(done.length, 8);
    assert.deepEqual(
      on.dispatcher.levels().map(({ name, nominalLimit }) => [name, nominalLimit]),
      [["a", 10]],
    );
  });

  it("retains a quiescing level that is configured again", () => {
    const on = new TestDispatcher([lender("a", 0), lender("b", 0)], 10);
    on.execute({ level: "b" }, 10);
    on.dispatcher.configure([lender("a", 0)], 10);
    on.dispatcher.configure([lender("a", 0), lender("b", 0)], 10);
    assert.equal(on.state("b").isQuiescing, false);
    assert.equal(on.state("b").requestsExecuting, 1);
  });

  it("drains queues after they are removed from the configuration", async () => {
    const on = new TestDispatcher([fair], 1);
    const done: Result[] = [];
    for (let n = 0; n < 5; n++) on.execute({ flow: `${n}` }, 10, (result) => done.push(result));
    on.dispatcher.configure([{ ...fair, queuing: undefined }], 1);
    assert.equal(on.state().requestsWaiting, 4);
    await on.clock.pass(100);
    assert.equal(done.filter(({ admitted }) => admitted).length, 5);
  });

  it("cancels waiting requests and final phases on close", async () => {
    const on = new TestDispatcher([fair], 2);
    const lingering = { finalSeats: 1, additionalLatency: 1e6 };
    on.execute(lingering, 10);
    await on.clock.pass(20);
    on.execute(lingering, 10);
    const waiting = on.start({ maxWaitMs: 1000 });
    const cancelled = { admitted: false, reason: "cancelled", retryAfter: 1 };
    on.dispatcher.close();
    assert.deepEqual(await waiting, cancelled);
    assert.equal(on.state().seatsInUse, 1);
    assert.deepEqual(on.startNow({ seats: 2 }), cancelled);
    await on.clock.pass(100);
    assert.equal(on.state().seatsInUse, 0);
  });

  it("rejects queues that shuffle sharding cannot deal", () => {
    const queuing = { queues: 1_000_000, handSize: 4, queueLengthLimit: 5 };
    assert.throws(() => new TestDispatcher([{ ...fair, queuing }], 1), /need 80 bits of entropy/);
  });

  it("leaks no seat over a million requests with random outcomes", async () => {
    const random = seededRandom(31);
    const on = new TestDispatcher([exempt, reject, fair, lender("other", 50)], 60);
    const names = ["exempt", "reject", "fair", "fair", "other", "other"];
    const total = 1_000_000;
    const counts = { started: 0, settled: 0, admitted: 0 };
    const settle = (result: Result) => {
      counts.settled++;
      if (!result.admitted) return;
      counts.admitted++;
      // Most end in this turn, some twice, some later.
      if (random.below(8) > 0) result.release();
      else on.clock.after(random.below(30), () => result.release());
      if (random.below(8) === 0) result.release();
    };
    const burst = () => {
      for (let n = 0; n < 200; n++) {
        counts.started++;
        const level = names[random.below(names.length)]!;
        const seats = random.below(10) === 0 ? 1 + random.below(12) : 1;
        const lingers = random.below(20) === 0;
        const final = lingers ? { finalSeats: 3, additionalLatency: random.below(10) } : {};
        const client = random.below(10) === 0 ? new AbortController() : undefined;
        const leaving = client === undefined ? {} : { signal: client.signal };
        const maxWaitMs = random.below(4) === 0 ? random.below(40) : Infinity;
        const flow = `${random.below(50)}`;
        on.startThen({ level, flow, seats, maxWaitMs, ...final, ...leaving }, settle);
        if (client !== undefined) on.clock.after(random.below(5), () => client.abort("left"));
      }
      if (counts.started < total) on.clock.after(10, burst);
    };
    burst();
    await on.clock.pass(200_000);
    assert.equal(counts.started, total);
    assert.equal(counts.settled, total);
    assert.ok(counts.admitted > total / 4 && counts.admitted < total);
    for (const state of on.dispatcher.levels()) {
      const { seatsInUse, seatsWaiting, requestsExecuting, requestsWaiting } = state;
      assert.deepEqual(
        { seatsInUse, seatsWaiting, requestsExecuting, requestsWaiting },
        { seatsInUse: 0, seatsWaiting: 0, requestsExecuting: 0, requestsWaiting: 0 },
      );
    }
  });
});
