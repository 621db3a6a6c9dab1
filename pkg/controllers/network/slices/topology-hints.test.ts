import assert from "node:assert/strict";
import type { Endpoint, EndpointSlice, Node } from "#kinds";
import { kubernetes } from "#meta";
import type { PlannedSlice } from "./slice-plan.ts";
import { TopologyHints } from "./topology-hints.ts";
import { addDistributionHints } from "./traffic-distribution.ts";
import { allocateZones, isOverloaded, zoneRatios } from "./zone-capacities.ts";

function node(name: string, zone: string, cpu: string, { more = {}, isReady = true } = {}): Node {
  const labels = { "topology.kubernetes.io/zone": zone, ...more };
  const status = isReady ? "True" : "False";
  return {
    metadata: { name, uid: name, resourceVersion: "1", labels },
    status: { allocatable: { cpu }, conditions: [{ type: "Ready", status }] },
  };
}

const endpointIn = (zone: string, index: number, ready = true): Endpoint => ({
  addresses: [`10.0.0.${index}`],
  conditions: { ready },
  ...(zone === "" ? {} : { zone }),
  nodeName: `n${index}`,
});

const planned = (endpoints: readonly Endpoint[], stored?: EndpointSlice): PlannedSlice => ({
  ...(stored === undefined ? {} : { stored }),
  addressType: "IPv4",
  ports: [],
  labels: {},
  endpoints: [...endpoints],
});

const stored = (endpoints: readonly Endpoint[]): EndpointSlice => ({
  metadata: { name: "s", uid: "s", resourceVersion: "1" },
  addressType: "IPv4",
  endpoints,
});

const zonesOf = (endpoints: readonly Endpoint[]) =>
  endpoints.map(({ hints }) => hints?.forZones?.map(({ name }) => name).join() ?? "-").join(" ");

describe("zoneRatios", () => {
  it("are shares of the CPU of ready nodes, without control planes", () => {
    const control = { "node-role.kubernetes.io/control-plane": "" };
    const nodes = [
      node("a", "z1", "3"),
      node("b", "z2", "500m"),
      node("c", "z2", "500m"),
      node("d", "z3", "8", { more: control }),
      node("e", "z3", "8", { isReady: false }),
    ];
    assert.deepEqual(
      zoneRatios(nodes, kubernetes),
      new Map([
        ["z1", 0.75],
        ["z2", 0.25],
      ]),
    );
  });

  it("are undefined with one zone, or if a node lacks its zone or CPU", () => {
    assert.equal(zoneRatios([node("a", "z1", "1")], kubernetes), undefined);
    const two = [node("a", "z1", "1"), node("b", "z2", "1")];
    assert.equal(zoneRatios([...two, node("c", "", "1")], kubernetes), undefined);
    assert.equal(zoneRatios([...two, node("c", "z1", "0")], kubernetes), undefined);
  });

  it("limit the endpoints of a zone, and detect an overloaded zone", () => {
    const ratios = new Map([
      ["z1", 0.5],
      ["z2", 0.5],
    ]);
    const allocations = allocateZones(ratios, 10);
    assert.ok(typeof allocations !== "string");
    assert.deepEqual(allocations.get("z1"), { desired: 5, maximum: 5 });
    assert.equal(
      allocateZones(ratios, 1),
      "Insufficient number of endpoints (1 endpoints, 2 zones)",
    );
    const many = new Map([
      ["a", 0.34],
      ["b", 0.33],
      ["c", 0.33],
    ]);
    assert.match(String(allocateZones(many, 4)), /^Unable to allocate minimum/);
    assert.ok(
      isOverloaded(
        new Map([
          ["z1", 8],
          ["z2", 2],
        ]),
        ratios,
      ),
    );
    assert.ok(
      !isOverloaded(
        new Map([
          ["z1", 5],
          ["z2", 5],
        ]),
        ratios,
      ),
    );
  });
});

describe("TopologyHints", () => {
  const ratios = zoneRatios([node("a", "z1", "1"), node("b", "z2", "1")], kubernetes);
  const input = (slices: readonly PlannedSlice[], unchanged: readonly EndpointSlice[] = []) => ({
    serviceKey: "ns/s",
    addressType: "IPv4",
    planned: slices,
    unchanged,
    plan: (slice: EndpointSlice) => planned(slice.endpoints, slice),
  });

  it("assign endpoints to their zone, and some to a zone that needs more", () => {
    const hints = new TopologyHints();
    hints.setRatios(ratios);
    const zones = ["z1", "z1", "z1", "z2", "z1", "z2"];
    const slice = planned(zones.map((zone, index) => endpointIn(zone, index)));
    const { events } = hints.add(input([slice]));
    assert.equal(zonesOf(slice.endpoints), "z2 z1 z1 z2 z1 z2");
    assert.equal(events[0]?.reason, "TopologyAwareHintsEnabled");
    // Now the hints are as they should be.
    const again = hints.add(input([], [stored(slice.endpoints)]));
    assert.deepEqual(again, { changed: [], events: [] });
    assert.deepEqual(hints.setRatios(undefined), ["ns/s"]);
  });

  it("are removed with a warning if zones would be overloaded", () => {
    const hints = new TopologyHints();
    const hinted = { ...endpointIn("z1", 1), hints: { forZones: [{ name: "z1" }] } };
    const { changed, events } = hints.add(input([], [stored([hinted])]));
    assert.equal(zonesOf(changed[0]?.endpoints ?? []), "-");
    assert.match(events[0]?.message ?? "", /^Insufficient Node information: .*addressType: IPv4$/);
    hints.setRatios(ratios);
    const slice = planned(["z1", "", "z2", "z2"].map((zone, index) => endpointIn(zone, index)));
    const [event] = hints.add(input([slice])).events;
    assert.match(event?.message ?? "", /do not have a zone specified/);
    assert.equal(zonesOf(slice.endpoints), "- - - -");
  });

  it("omit endpoints that are not ready", () => {
    const hints = new TopologyHints();
    hints.setRatios(ratios);
    const slice = planned([endpointIn("z1", 1), endpointIn("z2", 2), endpointIn("z2", 3, false)]);
    hints.add(input([slice]));
    assert.equal(zonesOf(slice.endpoints), "z1 z2 -");
  });
});

describe("addDistributionHints", () => {
  it("adds a hint for the zone, and with PreferSameNode for the node", () => {
    const slice = planned([endpointIn("z1", 1), endpointIn("", 2), endpointIn("z2", 3, false)]);
    addDistributionHints([slice], [], "PreferSameNode");
    assert.deepEqual(
      slice.endpoints.map(({ hints }) => hints),
      [
        { forZones: [{ name: "z1" }], forNodes: [{ name: "n1" }] },
        { forNodes: [{ name: "n2" }] },
        undefined,
      ],
    );
    addDistributionHints([slice], [], "PreferClose");
    assert.equal(zonesOf(slice.endpoints), "z1 - -");
    assert.deepEqual(addDistributionHints([], [stored(slice.endpoints)], "PreferClose"), []);
    assert.equal(addDistributionHints([], [stored(slice.endpoints)], "PreferSameNode").length, 1);
  });
});
