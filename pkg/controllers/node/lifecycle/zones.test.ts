/** States of zones, and the rates that follow from them. */
import assert from "node:assert/strict";
import { TestClock } from "../../../registry/testing.ts";
import { type ZoneCounts, zoneStateOf, Zones } from "./zones.ts";

const rates = {
  nodeEvictionRate: 1,
  secondaryNodeEvictionRate: 0.5,
  unhealthyZoneThreshold: 0.55,
  largeClusterSizeThreshold: 10,
};

describe("zones of nodes", () => {
  it("are fully disrupted without a ready node, and partially by a fraction of at least three nodes", () => {
    const stateOf = (ready: number, notReady: number) => zoneStateOf({ ready, notReady }, 0.55);
    assert.equal(stateOf(3, 0), "Normal");
    assert.equal(stateOf(0, 1), "FullDisruption");
    assert.equal(stateOf(1, 2), "Normal");
    assert.equal(stateOf(2, 3), "PartialDisruption");
    assert.equal(stateOf(4, 3), "Normal");
  });

  /** Nodes that are tainted within a number of seconds. */
  function letThrough(seconds: number, counts: Readonly<Record<string, ZoneCounts>>): string[] {
    const clock = new TestClock();
    const zones = new Zones(clock, rates);
    for (const zone of Object.keys(counts)) {
      for (let index = 0; index < 9; index++) zones.enqueue(zone, `${zone}${index}`);
    }
    zones.update(new Map(Object.entries(counts)));
    const found: string[] = [];
    for (let second = 0; second < seconds; second++) {
      for (const zone of zones.names()) {
        for (let name = zones.next(zone); name !== undefined; name = zones.next(zone)) {
          found.push(name);
        }
      }
      clock.advance(1_000);
    }
    return found;
  }

  it("taint nodes at the rate of their state", () => {
    const well = { ready: 5, notReady: 1 };
    assert.equal(letThrough(4, { a: well }).length, 4);
    assert.equal(letThrough(4, { a: { ready: 1, notReady: 4 } }).length, 0);
    assert.equal(letThrough(4, { a: { ready: 2, notReady: 10 } }).length, 2);
    // A fully disrupted zone keeps the usual rate while another zone is healthy.
    assert.equal(letThrough(4, { a: well, b: { ready: 0, notReady: 3 } }).length, 8);
    assert.equal(letThrough(4, { a: { ready: 0, notReady: 3 } }).length, 0);
  });

  it("report when all zones are down, and when one recovers", () => {
    const zones = new Zones(new TestClock(), rates);
    const update = (ready: number) => zones.update(new Map([["a", { ready, notReady: 2 }]]));
    assert.deepEqual(
      [update(1), update(0), update(0), update(1), update(1)],
      ["unchanged", "all zones down", "unchanged", "some zone up again", "unchanged"],
    );
  });
});
