import assert from "node:assert/strict";
import { systemClock, type Clock } from "#base";
import { failureOf, faultOf, isConnectionTrouble } from "./grpc/failures.ts";
import { CoalescedRead } from "./coalesced-read.ts";
import { LeasePool } from "./leases.ts";

describe("etcd group read", () => {
  it("shares a read only among callers from before its start", async () => {
    const answers: ((value: number) => void)[] = [];
    const group = new CoalescedRead(() => new Promise<number>((resolve) => answers.push(resolve)));
    const [a, b] = [group.read(), group.read()];
    await turn();
    assert.equal(answers.length, 1);
    const late = [group.read(), group.read()];
    await turn();
    assert.equal(answers.length, 1, "the second read waits for the first");
    answers[0]?.(1);
    assert.deepEqual(await Promise.all([a, b]), [1, 1]);
    await turn();
    answers[1]?.(2);
    assert.deepEqual(await Promise.all(late), [2, 2]);
    assert.equal(answers.length, 2);
  });

  it("goes on after a read that failed", async () => {
    let reads = 0;
    const group = new CoalescedRead(async () => {
      reads += 1;
      if (reads === 1) throw new Error("no");
      return reads;
    });
    await assert.rejects(group.read(), /no/);
    assert.equal(await group.read(), 2);
  });
});

describe("etcd leases", () => {
  const leases = (): { now: number; granted: number[]; leases: LeasePool } => {
    const made = { now: 0, granted: [] as number[], leases: undefined as unknown as LeasePool };
    const clock: Clock = { ...systemClock, monotonic: () => made.now };
    const grant = async (seconds: number): Promise<string> => String(made.granted.push(seconds));
    made.leases = new LeasePool(grant, clock);
    return made;
  };

  it("shares a lease for a twentieth of its time, at most a minute", async () => {
    const made = leases();
    assert.equal(await made.leases.idFor(3_600), "1");
    made.now = 59_999;
    assert.equal(await made.leases.idFor(3_600), "1");
    made.now = 60_000;
    assert.equal(await made.leases.idFor(3_600), "2");
    assert.equal(await made.leases.idFor(100), "3");
    assert.deepEqual(made.granted, [3_660, 3_660, 105]);
  });

  it("puts at most 1,000 keys on a lease", async () => {
    const made = leases();
    for (let key = 0; key < 1_001; key += 1) await made.leases.idFor(3_600);
    assert.equal(made.granted.length, 2);
  });

  it("does not keep a lease that was not granted", async () => {
    let tries = 0;
    const grant = async (): Promise<string> => {
      tries += 1;
      if (tries === 1) throw new Error("no");
      return "7";
    };
    const shared = new LeasePool(grant, systemClock);
    await assert.rejects(shared.idFor(10), /no/);
    assert.equal(await shared.idFor(10), "7");
  });
});

class GRPCUnavailableError extends Error {}
class GRPCDeadlineExceededError extends Error {}
class GRPCGenericError extends Error {}

describe("etcd failures", () => {
  const rows: readonly (readonly [Error, boolean, unknown])[] = [
    [
      new GRPCUnavailableError("No connection established. Last error: x"),
      true,
      {
        kind: "unavailable",
        message: "No connection established. Last error: x",
        maybeApplied: false,
      },
    ],
    [
      new GRPCUnavailableError("Connection dropped"),
      true,
      { kind: "unavailable", message: "Connection dropped", maybeApplied: true },
    ],
    [
      new GRPCUnavailableError("Connection dropped"),
      false,
      { kind: "unavailable", message: "Connection dropped", maybeApplied: false },
    ],
    [
      new GRPCUnavailableError("etcdserver: request timed out"),
      true,
      { kind: "timeout", message: "etcdserver: request timed out", maybeApplied: true },
    ],
    [
      new GRPCDeadlineExceededError("Deadline exceeded after 2s,Waiting for LB pick"),
      true,
      {
        kind: "unavailable",
        message: "Deadline exceeded after 2s,Waiting for LB pick",
        maybeApplied: false,
      },
    ],
    [
      new GRPCGenericError("etcdserver: mvcc: database space exceeded"),
      true,
      { kind: "no-space", message: "etcdserver: mvcc: database space exceeded" },
    ],
  ];
  for (const [error, write, detail] of rows) {
    it(`${error.message} (${write ? "write" : "read"})`, () => {
      assert.deepEqual(faultOf(failureOf(error), write).detail, detail);
    });
  }

  it("leaves the member where another would answer the same", () => {
    const trouble = (message: string): boolean =>
      isConnectionTrouble(failureOf(new GRPCUnavailableError(message)));
    assert.equal(trouble("etcdserver: leader changed"), false);
    assert.equal(trouble("etcdserver: too many requests"), false);
    assert.equal(trouble("etcdserver: no leader"), true);
    assert.equal(trouble("Connection dropped"), true);
  });
});

async function turn(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}
