import assert from "node:assert/strict";
import { StatusError } from "#meta";
import { BodyBudget, type Seat } from "./body-budget.ts";

const kib = 1024;
const limits = { bodyBufferBytes: 1024 * kib, retryAfterSeconds: 1 };
const alice = { name: "alice", isExempt: false };

class TestSeat implements Seat {
  isTaken = true;
  bodyArrived(): void {
    this.isTaken = true;
  }
  waitForBody(): void {
    this.isTaken = false;
  }
}

function isRefusal(error: unknown): boolean {
  return error instanceof StatusError && error.code === 429;
}

describe("BodyBudget", () => {
  it("releases the seat while a body arrives, and takes it again for the complete body", () => {
    const budget = new BodyBudget(limits);
    const seat = new TestSeat();
    const body = budget.observer(alice, seat);
    body.waiting();
    assert.equal(seat.isTaken, false);
    for (let index = 0; index < 10; index++) body.received(10 * kib);
    assert.equal(budget.bytes, 100 * kib);
    void body.arrived();
    assert.equal(seat.isTaken, true);
    body.ended();
    body.ended();
    assert.equal(budget.bytes, 0);
  });

  it("charges at least 16 KiB for each body", () => {
    const budget = new BodyBudget(limits);
    const body = budget.observer(alice, new TestSeat());
    body.waiting();
    body.received(1);
    assert.equal(budget.bytes, 16 * kib);
  });

  it("rejects bodies above a quarter of the budget per user, and above the budget in total", () => {
    const budget = new BodyBudget(limits);
    const users = ["alice", "bob", "carol", "dave"];
    for (const name of users) {
      for (let index = 0; index < 16; index++) {
        budget.observer({ name, isExempt: false }, new TestSeat()).waiting();
      }
      const more = budget.observer({ name, isExempt: false }, new TestSeat());
      assert.throws(() => more.waiting(), isRefusal);
      more.ended();
    }
    const other = budget.observer({ name: "eve", isExempt: false }, new TestSeat());
    assert.throws(() => other.waiting(), isRefusal);
    const admin = budget.observer({ name: "root", isExempt: true }, new TestSeat());
    admin.waiting();
    admin.received(100 * kib);
    assert.equal(budget.bytes, limits.bodyBufferBytes + 100 * kib);
  });

  it("rejects a body that exceeds its user's share while it arrives", () => {
    const budget = new BodyBudget(limits);
    const body = budget.observer(alice, new TestSeat());
    body.waiting();
    body.received(200 * kib);
    assert.throws(() => body.received(100 * kib), isRefusal);
    body.ended();
    assert.equal(budget.bytes, 0);
  });
});
