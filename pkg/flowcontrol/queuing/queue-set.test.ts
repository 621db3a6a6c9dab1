import assert from "node:assert/strict";
import { seededRandom } from "#base";
import { PrometheusMetrics } from "#server";
import { flowControlMetrics } from "../metrics/definitions.ts";
import { fair, type Result, TestDispatcher, type TestRequest } from "../testing.ts";

const manyQueues = { ...fair, queuing: { queues: 128, handSize: 6, queueLengthLimit: 1000 } };

/** A client that sends its next request when the last one has finished. */
function loop(on: TestDispatcher, request: TestRequest, ms: () => number, done: () => void): void {
  on.execute(request, ms(), (result) => {
    if (result.admitted) done();
    loop(on, request, ms, done);
  });
}

/** Jain's index of fairness: 1 if all are equal, 1/n if one has everything. */
function jain(values: readonly number[]): number {
  const sum = values.reduce((a, b) => a + b, 0);
  return sum ** 2 / (values.length * values.reduce((a, b) => a + b * b, 0));
}

describe("queue set", () => {
  for (const seed of [1, 2, 3]) {
    it(`gives equal flows equal shares (Jain's index, seed ${seed})`, async () => {
      const random = seededRandom(seed);
      const on = new TestDispatcher([manyQueues], 10, { seed });
      const served = Array.from({ length: 10 }, () => 0);
      for (const [flow] of served.entries()) {
        // Clients differ in number: shares must not follow from that.
        for (let client = 0; client < 20 * (flow + 1); client++) {
          const ms = () => 1 + random.below(20);
          loop(on, { flow: `flow-${flow}` }, ms, () => served[flow]!++);
        }
      }
      await on.clock.pass(20_000);
      assert.ok(jain(served) >= 0.95, `${jain(served)} of ${served}`);
    });
  }

  it("dispatches a mouse promptly beside an elephant", async () => {
    const on = new TestDispatcher([manyQueues], 10);
    for (let client = 0; client < 500; client++) {
      loop(
        on,
        { flow: "elephant" },
        () => 20,
        () => undefined,
      );
    }
    const waits: number[] = [];
    for (let at = 0; at < 10_000; at += 50) {
      on.clock.after(at, () => {
        on.execute({ flow: "mouse" }, 20, (result) => {
          waits.push(result.admitted ? result.waited : Infinity);
        });
      });
    }
    await on.clock.pass(11_000);
    assert.equal(waits.length, 200);
    assert.ok(Math.max(...waits) <= 20, `waited ${Math.max(...waits)} ms: at most one execution`);
  });

  it("dispatches a mouse immediately although wide, long requests leave a seat idle", async () => {
    const on = new TestDispatcher([{ ...fair, queuing: manyQueues.queuing }], 49);
    for (let client = 0; client < 300; client++) {
      const elephant = { flow: "elephant", seats: 8, maxWaitMs: 15_000 };
      loop(
        on,
        elephant,
        () => 600,
        () => undefined,
      );
    }
    const waits: number[] = [];
    for (let at = 10_000; at < 30_000; at += 50) {
      on.clock.after(at, () => {
        on.execute({ flow: "mouse" }, 5, (result) => {
          waits.push(result.admitted ? result.waited : Infinity);
        });
      });
    }
    await on.clock.pass(32_000);
    assert.equal(waits.length, 400);
    const longest = Math.max(...waits);
    assert.ok(longest <= 600, `waited ${longest} ms: at most one execution`);
    assert.ok(waits.filter((wait) => wait === 0).length > 350, "mostly at once");
  });

  it("reserves seats for narrow requests while wide ones would occupy all", async () => {
    const on = new TestDispatcher([{ ...fair, queuing: manyQueues.queuing }], 48);
    for (let client = 0; client < 300; client++) {
      on.execute({ flow: "elephant", seats: 8, maxWaitMs: 60_000 }, 9_000);
    }
    const waits: number[] = [];
    for (let at = 1_000; at < 8_000; at += 50) {
      on.clock.after(at, () => {
        on.execute({ flow: "mouse" }, 20, (result) => {
          waits.push(result.admitted ? result.waited : Infinity);
        });
      });
    }
    await on.clock.pass(8_500);
    assert.equal(waits.length, 140);
    assert.equal(Math.max(...waits), 0);
  });

  it("leaves no seat idle while a request waits", async () => {
    const random = seededRandom(11);
    const on = new TestDispatcher([fair], 10);
    const check = () => {
      const { seatsInUse, requestsWaiting } = on.state();
      assert.ok(requestsWaiting === 0 || seatsInUse === 10, `${seatsInUse} seats in use`);
      assert.ok(seatsInUse <= 10);
    };
    for (let n = 0; n < 20_000; n++) {
      on.clock.after(random.below(20_000), () => {
        const leaving = new AbortController();
        if (random.below(4) === 0) on.clock.after(random.below(50), () => leaving.abort());
        const request = { flow: `${random.below(30)}`, signal: leaving.signal, maxWaitMs: 100 };
        on.execute(request, random.below(25), check);
        check();
      });
    }
    await on.clock.pass(30_000);
    assert.equal(on.state().requestsWaiting, 0);
  });

  it("leaves fewer seats idle than the next request needs", async () => {
    const random = seededRandom(12);
    const on = new TestDispatcher([fair], 10);
    let served = 0;
    for (let n = 0; n < 5_000; n++) {
      on.clock.after(random.below(20_000), () => {
        const request = { flow: `${random.below(30)}`, seats: 1 + random.below(4) };
        on.execute(request, random.below(25), () => served++);
        const { seatsInUse, requestsWaiting } = on.state();
        // Wide requests need 4 seats at most, and leave one to narrow ones.
        assert.ok(requestsWaiting === 0 || seatsInUse > 10 - 4 - 1, `${seatsInUse} seats in use`);
        assert.ok(seatsInUse <= 10);
      });
    }
    await on.clock.pass(60_000);
    assert.equal(served, 5_000);
  });

  it("does not starve a request as wide as the limit or wider", async () => {
    const on = new TestDispatcher([manyQueues], 10);
    for (let client = 0; client < 200; client++) {
      loop(
        on,
        { flow: `flow-${client % 20}` },
        () => 10,
        () => undefined,
      );
    }
    await on.clock.pass(1000);
    const waits: number[] = [];
    for (const seats of [10, 25]) {
      on.execute({ flow: `wide-${seats}`, seats }, 10, (result) => {
        waits.push(result.admitted ? result.waited : Infinity);
      });
    }
    await on.clock.pass(5000);
    assert.equal(waits.length, 2);
    assert.ok(Math.max(...waits) < 2000, `waited ${waits} ms`);
  });

  it("dispatches round-robin from queues with equal virtual finish times", async () => {
    const oneQueueEach = { ...fair, queuing: { queues: 512, handSize: 1, queueLengthLimit: 50 } };
    const on = new TestDispatcher([oneQueueEach], 1);
    const order: string[] = [];
    on.execute({ flow: "first" }, 3);
    for (const flow of ["a", "a", "a", "b", "b", "b", "c", "c", "c"]) {
      on.execute({ flow }, 3, () => order.push(flow));
    }
    await on.clock.pass(100);
    const rounds = [order.slice(0, 3), order.slice(3, 6), order.slice(6)];
    for (const round of rounds) assert.deepEqual(round.toSorted(), ["a", "b", "c"]);
  });

  it("charges flows for seats and execution time", async () => {
    // A queue for each flow: hands that overlap would change the shares.
    const ownQueues = { ...fair, queuing: { queues: 512, handSize: 1, queueLengthLimit: 1000 } };
    const on = new TestDispatcher([ownQueues], 12);
    const served = { narrow: 0, wide: 0, slow: 0 };
    for (let client = 0; client < 60; client++) {
      loop(
        on,
        { flow: "narrow" },
        () => 10,
        () => served.narrow++,
      );
      loop(
        on,
        { flow: "wide", seats: 3 },
        () => 10,
        () => served.wide++,
      );
      loop(
        on,
        { flow: "slow" },
        () => 40,
        () => served.slow++,
      );
    }
    await on.clock.pass(60_000);
    assert.ok(Math.abs(served.narrow / served.wide - 3) < 0.5, JSON.stringify(served));
    assert.ok(Math.abs(served.narrow / served.slow - 4) < 0.7, JSON.stringify(served));
  });

  it("keeps seats in use during the additional latency", async () => {
    const on = new TestDispatcher([fair], 10);
    on.execute({ seats: 2, finalSeats: 6, additionalLatency: 50 }, 10);
    assert.equal(on.state().seatsInUse, 6);
    await on.clock.pass(30);
    const { requestsExecuting, seatsInUse } = on.state();
    assert.deepEqual({ requestsExecuting, seatsInUse }, { requestsExecuting: 0, seatsInUse: 6 });
    const waiting = on.start({ seats: 5 });
    await on.clock.pass(29);
    assert.equal(on.state().requestsWaiting, 1);
    await on.clock.pass(2);
    assert.equal(on.state().requestsWaiting, 0);
    assert.equal((await waiting).admitted, true);
  });

  it("extends the final phase if final seats exceed the limit", async () => {
    const on = new TestDispatcher([fair], 10);
    on.execute({ seats: 1, finalSeats: 40, additionalLatency: 5 }, 10);
    assert.equal(on.state().seatsInUse, 10);
    await on.clock.pass(29);
    assert.equal(on.state().seatsInUse, 10);
    await on.clock.pass(2);
    assert.equal(on.state().seatsInUse, 0);
  });

  it("removes a request whose client disconnects, and dispatches narrower ones", async () => {
    const on = new TestDispatcher([fair], 10);
    on.execute({ seats: 9 }, 100);
    const client = new AbortController();
    const wide = on.start({ seats: 5, signal: client.signal, flow: "wide" });
    const narrow = on.start({ seats: 1, flow: "narrow" });
    assert.ok(wide instanceof Promise);
    client.abort();
    assert.deepEqual(await wide, { admitted: false, reason: "cancelled", retryAfter: 1 });
    assert.equal((await narrow).admitted, true);
    assert.equal(on.state().seatsInUse, 10);
  });

  it("rejects instead of queuing a request whose client has disconnected", () => {
    const on = new TestDispatcher([fair], 1);
    on.execute({}, 100);
    const result = on.startNow({ signal: AbortSignal.abort() });
    assert.deepEqual(result, { admitted: false, reason: "cancelled", retryAfter: 1 });
  });

  for (const lateness of [0, 30]) {
    it(`rejects waiting requests at their deadline, timers late by ${lateness} ms`, async () => {
      const random = seededRandom(13);
      const on = new TestDispatcher([fair], 10);
      on.clock.lateness = lateness;
      const reasons = new Map<string, number>();
      const settle = (maxWaitMs: number, since: number) => (result: Result) => {
        const waited = on.clock.monotonic() - since;
        if (result.admitted)
          assert.ok(result.waited < maxWaitMs, `${result.waited} of ${maxWaitMs}`);
        else assert.ok(waited <= maxWaitMs + lateness, `rejected after ${waited} of ${maxWaitMs}`);
        const reason = result.admitted ? "admitted" : result.reason;
        reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
        if (result.admitted) on.clock.after(random.below(50), () => result.release());
      };
      for (let n = 0; n < 5_000; n++) {
        on.clock.after(random.below(5_000), () => {
          const maxWaitMs = 1 + random.below(200);
          const request = { flow: `${random.below(20)}`, maxWaitMs };
          on.startThen(request, settle(maxWaitMs, on.clock.monotonic()));
        });
      }
      await on.clock.pass(10_000);
      assert.deepEqual([...reasons.keys()].toSorted(), ["admitted", "time-out"]);
      assert.equal((reasons.get("admitted") ?? 0) + (reasons.get("time-out") ?? 0), 5_000);
    });
  }

  it("rejects when the queue is full, with increasing Retry-After", async () => {
    const short = { ...fair, queuing: { queues: 1, handSize: 1, queueLengthLimit: 3 } };
    const on = new TestDispatcher([short], 1);
    on.execute({}, 1e9);
    for (let n = 0; n < 3; n++) assert.equal(on.startNow(), "waits");
    const values = new Set<number>();
    for (let second = 0; second < 60; second++) {
      for (let n = 0; n < 200; n++) {
        const result = on.startNow();
        assert.ok(result !== "waits" && !result.admitted && result.reason === "queue-full");
        values.add(result.retryAfter);
      }
      await on.clock.pass(1000);
    }
    assert.deepEqual([...values], [1, 2, 4, 8, 16, 32]);
    await on.clock.pass(1000_000);
    const calm = Array.from({ length: 5 }, () => on.startNow());
    assert.deepEqual(
      calm.map((result) => (result !== "waits" && !result.admitted ? result.retryAfter : 0)),
      [31, 31, 31, 31, 31],
    );
  });

  it("starts a new epoch before the progress meter overflows, and stays fair", async () => {
    const metrics = new PrometheusMetrics();
    metrics.instruments.define(Object.values(flowControlMetrics));
    const { instruments } = metrics;
    const on = new TestDispatcher([manyQueues], 1_000_000, { instruments });
    const served = [0, 0, 0];
    for (const [flow] of served.entries()) {
      for (let client = 0; client < 60; client++) {
        const request = { flow: `${flow}`, seats: 100_000 };
        loop(
          on,
          request,
          () => 1000,
          () => served[flow]!++,
        );
      }
    }
    await on.clock.pass(3_000_000);
    const advances = await metrics.series("apiserver_flowcontrol_epoch_advance_total");
    assert.deepEqual(advances[0]?.labels, { priority_level: "fair", success: "true" });
    assert.ok((advances[0]?.value ?? 0) > 2);
    assert.ok(jain(served) >= 0.95, `${served}`);
  });

  it("retains few queues of a level with ten million", async () => {
    const on = new TestDispatcher(
      [{ ...fair, queuing: { queues: 10_000_000, handSize: 2, queueLengthLimit: 5 } }],
      10,
    );
    for (let n = 0; n < 20_000; n++) on.execute({ flow: `${n}` }, 1);
    await on.clock.pass(20_000);
    assert.equal(on.state().requestsWaiting, 0);
    const rows = on.dispatcher.dumpQueues().trimEnd().split("\n").length - 1;
    assert.ok(rows <= 1024, `${rows} queues`);
  });
});
