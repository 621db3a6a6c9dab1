import assert from "node:assert/strict";
import { heldDuring, realClock, systemClock } from "./clock.ts";
import { VirtualClock } from "./virtual-clock.ts";

const start = "2030-01-01T00:00:00Z";
const at = (clock: VirtualClock) => new Date(clock.now()).toISOString().slice(11, 23);

describe("VirtualClock", () => {
  it("starts at the given time, or now", () => {
    assert.equal(new VirtualClock({ start }).now(), Date.parse(start));
    assert.equal(new VirtualClock({ start: new Date(5) }).now(), 5);
    const before = Date.now();
    const now = new VirtualClock().now();
    assert.ok(before <= now && now <= Date.now());
    assert.throws(() => new VirtualClock({ start: "soon" }), RangeError);
  });

  it("fires timers in order of time, and those of one moment in order of creation", async () => {
    const clock = new VirtualClock({ start });
    const fired: string[] = [];
    const timer = (name: string, ms: number) =>
      clock.sleep(ms).then(() => void fired.push(`${name} ${at(clock)}`));
    void timer("c", 3000);
    void timer("a1", 1000);
    void timer("b", 1999.2);
    void timer("a2", 1000);
    void timer("later", 3001);
    await clock.advance(3000);
    const expected = ["a1 00:00:01.000", "a2 00:00:01.000", "b 00:00:02.000", "c 00:00:03.000"];
    assert.deepEqual(fired, expected);
    await clock.advanceTo("2030-01-02T00:00:00Z");
    assert.deepEqual(fired.slice(4), ["later 00:00:03.001"]);
    assert.equal(clock.now(), Date.parse("2030-01-02T00:00:00Z"));
    assert.equal(clock.nowMicros(), clock.now() * 1000);
  });

  it("fires timers that timers start, at their own time", async () => {
    const clock = new VirtualClock({ start });
    const seen: string[] = [];
    const tick = async () => {
      for (;;) {
        await clock.sleep(10_000);
        seen.push(at(clock));
      }
    };
    void tick();
    await clock.advance(35_000);
    assert.deepEqual(seen, ["00:00:10.000", "00:00:20.000", "00:00:30.000"]);
    assert.equal(at(clock), "00:00:35.000");
  });

  it("does not fire a timer that an earlier one of the same moment cancels", async () => {
    const clock = new VirtualClock({ start });
    const life = new AbortController();
    const reason = new Error("cancelled");
    void clock.sleep(10).then(() => life.abort(reason));
    const cancelled = assert.rejects(clock.sleep(10, life.signal), reason);
    await clock.advance(10);
    await cancelled;
    await assert.rejects(clock.sleep(10, life.signal), reason);
  });

  it("waits for the work of a timer before time advances", async () => {
    const clock = new VirtualClock({ start });
    const seen: string[] = [];
    void clock.sleep(10).then(async () => {
      for (let step = 0; step < 20; step++) {
        clock.note("steps");
        await new Promise((resolve) => setImmediate(resolve));
      }
      seen.push(at(clock));
    });
    await clock.advance(20);
    assert.deepEqual(seen, ["00:00:00.010"]);
  });

  it("does not advance while work waits for something outside the event loop", async () => {
    const clock = new VirtualClock({ start });
    const seen: string[] = [];
    void clock.sleep(10).then(async () => {
      await heldDuring(clock, "a disk", () => systemClock.sleep(30));
      seen.push(at(clock));
    });
    await clock.advance(20);
    assert.deepEqual(seen, ["00:00:00.010"]);
  });

  it("never moves backward, and is advanced by one caller at a time", async () => {
    const clock = new VirtualClock({ start });
    await assert.rejects(clock.advance(-1), RangeError);
    await assert.rejects(clock.advance(NaN), RangeError);
    await assert.rejects(clock.advanceTo("2029-12-31T23:59:59.999Z"), RangeError);
    const first = clock.advance(10);
    await assert.rejects(clock.advance(10), /being advanced already/);
    await first;
    assert.equal(at(clock), "00:00:00.010");
  });

  it("reports the operations of work that never ends", async () => {
    const clock = new VirtualClock({ start, maxOperations: 500 });
    const life = new AbortController();
    const spin = async () => {
      for (let turn = 0; !life.signal.aborted; turn++) {
        clock.note(turn % 3 === 0 ? "requests for pods" : "syncs of job");
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    const spinning = spin();
    const message =
      "the server has not come to rest at 2030-01-01T00:00:00.000Z: 501 operations while time stood " +
      "still, most often syncs of job (334), requests for pods (167)";
    await assert.rejects(clock.advance(10), { message });
    life.abort();
    await spinning;
    await clock.settle();
  });

  it("reports timers that fire again without time passing", async () => {
    const clock = new VirtualClock({ start, maxOperations: 100 });
    const life = new AbortController();
    const spin = async () => {
      while (!life.signal.aborted) await clock.sleep(0);
    };
    const spinning = spin();
    await assert.rejects(clock.advance(10), /most often timers \(101\)/);
    life.abort();
    await clock.advance(10);
    await spinning;
  });

  it("reports the holders of a hold that takes too long", async () => {
    const clock = new VirtualClock({ start, maxHoldMs: 5 });
    const release = clock.hold("a webhook");
    await assert.rejects(
      clock.advance(10),
      /stood still at 2030-01-01T00:00:00.000Z for 5 ms, waiting for a webhook \(1\)/,
    );
    release();
    release();
    await clock.advance(10);
    assert.equal(at(clock), "00:00:00.010");
  });

  it("does not stop for periodic checks while they are idle", async () => {
    const clock = new VirtualClock({ start });
    const seen: string[] = [];
    let idleUntil = Infinity;
    const check = async () => {
      for (;;) {
        await clock.sleep(10_000, undefined, { idleUntil: () => idleUntil });
        seen.push(at(clock));
      }
    };
    void check();
    void clock.sleep(31_000).then(() => (idleUntil = 0));
    void clock.sleep(52_000).then(() => (idleUntil = clock.now() + 15_000));
    await clock.advance(60_000);
    assert.deepEqual(seen, ["00:00:40.000", "00:00:50.000"]);
    await clock.advance(20_000);
    assert.deepEqual(seen.slice(2), ["00:01:10.000", "00:01:20.000"]);
    idleUntil = Infinity;
    await clock.advanceTo("2130-01-01T00:00:00Z");
    assert.equal(seen.length, 4);
  });

  it("fires coalesced timers late, before all others of a moment", async () => {
    const clock = new VirtualClock({ start });
    const seen: string[] = [];
    const beat = async () => {
      for (;;) {
        await clock.sleep(10_000, undefined, { coalesce: true });
        seen.push(`beat ${at(clock)}`);
      }
    };
    void clock.sleep(25_000).then(() => void seen.push(`timer ${at(clock)}`));
    void beat();
    await clock.advance(30_000);
    assert.deepEqual(seen, ["beat 00:00:25.000", "timer 00:00:25.000"]);
    await clock.advance(86_400_000 - 30_000);
    assert.deepEqual(seen.slice(2), ["beat 00:00:00.000"]);
  });

  it("keeps connections in real time", () => {
    assert.equal(realClock(new VirtualClock({ start })), systemClock);
    assert.equal(realClock(systemClock), systemClock);
  });
});
