import assert from "node:assert/strict";
import { SeatDemandIntegrator } from "./seat-demand.ts";

describe("seat demand", () => {
  it("computes average, deviation and high watermark of a period", () => {
    const demand = new SeatDemandIntegrator(0);
    demand.set(10, 0);
    demand.set(50, 6_000);
    demand.set(2, 6_000);
    assert.deepEqual(demand.endPeriod(8_000), {
      highWatermark: 50,
      average: 8,
      deviation: Math.sqrt(12),
      smoothed: 8 + Math.sqrt(12),
    });
    const next = demand.endPeriod(18_000);
    assert.deepEqual([next.highWatermark, next.average, next.deviation], [2, 2, 0]);
  });

  it("smooths falling demand with a half-life of five minutes, rising demand not at all", () => {
    const demand = new SeatDemandIntegrator(0);
    demand.set(100, 0);
    assert.equal(demand.endPeriod(10_000).smoothed, 100);
    demand.set(0, 10_000);
    let smoothed = 100;
    for (let period = 2; period <= 31; period++) {
      ({ smoothed } = demand.endPeriod(period * 10_000));
    }
    assert.ok(Math.abs(smoothed - 50) < 0.5, `${smoothed}`);
    demand.set(70, 310_000);
    assert.equal(demand.endPeriod(320_000).smoothed, 70);
  });

  it("retains the smoothed value after a period of no length", () => {
    const demand = new SeatDemandIntegrator(0);
    demand.set(4, 0);
    assert.equal(demand.endPeriod(1_000).smoothed, 4);
    assert.equal(demand.endPeriod(1_000).smoothed, 4);
  });
});
