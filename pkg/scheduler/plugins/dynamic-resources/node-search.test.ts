import assert from "node:assert/strict";
import { systemClock } from "#base";
import {
  AllocatedState,
  Allocator,
  allocatorFeatures,
  DeviceSelectors,
} from "#dynamic-resource-allocation";
import type { ResourceClaim, ResourceSlice } from "#kinds";
import { NodeSearches } from "./node-search.ts";

const driver = "d.example.com";
const meta = (name: string) => ({ name, uid: name, resourceVersion: "1" });

/** A clock that advances by a millisecond with each reading. */
function tickingClock() {
  let time = 0;
  return { ...systemClock, monotonic: () => time++ };
}

/**
 * Many devices match, but the last request requires a device whose attribute differs although it
 * must be equal: the search tries all permutations and fails.
 */
function hopeless(count: number): { slices: ResourceSlice[]; claim: ResourceClaim } {
  const device = (name: string, group: string) => ({
    name,
    attributes: { group: { string: group } },
  });
  const devices = Array.from({ length: count }, (_, at) => device(`d${at}`, "a"));
  const wants = (group: string) => ({
    deviceClassName: "c",
    selectors: [{ cel: { expression: `device.attributes["${driver}"].group == "${group}"` } }],
  });
  const requests = Array.from({ length: 12 }, (_, at) => ({ name: `r${at}`, exactly: wants("a") }));
  const constraints = [{ matchAttribute: `${driver}/group` }];
  const spec = {
    driver,
    allNodes: true,
    pool: { name: "p", generation: 1, resourceSliceCount: 1 },
    devices: [...devices, device("other", "b")],
  };
  const last = { name: "last", exactly: wants("b") };
  return {
    slices: [{ metadata: meta("s"), spec }],
    claim: {
      metadata: { ...meta("claim"), namespace: "ns" },
      spec: { devices: { requests: [...requests, last], constraints } },
    },
  };
}

describe("node searches", () => {
  const searchesOf = ({ slices, claim }: ReturnType<typeof hopeless>, timeoutMs: number) => {
    const allocator = new Allocator({
      features: allocatorFeatures(() => true),
      allocated: new AllocatedState(),
      selectors: new DeviceSelectors(),
      classOf: () => ({ metadata: meta("c"), spec: {} }),
      slicesFor: () => slices,
      nodeMatches: () => true,
      newShareId: () => "share",
    });
    return new NodeSearches({ allocator, claims: [claim], clock: tickingClock(), timeoutMs });
  };
  const outcomeOf = (searches: NodeSearches, name: string) => {
    let pauses = 0;
    for (;;) {
      const { kind } = searches.advance({ metadata: meta(name) });
      if (kind !== "paused") return { kind, pauses };
      assert.ok(++pauses < 1_000, "the search never ends");
    }
  };

  it("pause a long search repeatedly, and stop it at the timeout", () => {
    const searches = searchesOf(hopeless(14), 200);
    const { kind, pauses } = outcomeOf(searches, "a");
    assert.equal(kind, "timeout");
    assert.ok(pauses > 10, `${pauses} pauses`);
    assert.equal(searches.foundOn("a"), undefined);
    assert.equal(searches.advance({ metadata: meta("a") }).kind, "timeout");
  });

  it("limit the total time of the searches of an attempt", () => {
    const searches = searchesOf(hopeless(14), 200);
    const pauses = ["a", "b", "c", "d", "e"].map((name) => outcomeOf(searches, name).pauses);
    assert.ok(pauses[0]! > 10);
    assert.deepEqual(pauses.slice(3), [0, 0]);
  });

  it("find an allocation and retain it", () => {
    const { slices, claim } = hopeless(14);
    const requests = claim.spec.devices!.requests!.slice(0, 3);
    const searches = searchesOf(
      { slices, claim: { ...claim, spec: { devices: { requests } } } },
      0,
    );
    assert.equal(outcomeOf(searches, "a").kind, "found");
    const results = searches.foundOn("a")![0]!.devices!.results!;
    assert.deepEqual(
      results.map(({ device }) => device),
      ["d0", "d1", "d2"],
    );
  });
});
