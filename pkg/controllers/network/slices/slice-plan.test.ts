import assert from "node:assert/strict";
import { seededRandom } from "#base";
import type { Endpoint, EndpointSlice } from "#kinds";
import { endpointKey, packEndpoints } from "./slice-plan.ts";

const labels = { app: "a" };
const ports = [{ name: "http", port: 80, protocol: "TCP" }];

const endpoint = (index: number, more: Partial<Endpoint> = {}): Endpoint => ({
  addresses: [`10.0.0.${index}`],
  conditions: { ready: true },
  targetRef: { kind: "Pod", namespace: "ns", name: `p${index}`, uid: `u${index}` },
  ...more,
});

const range = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, index) => endpoint(from + index));

const slice = (name: string, endpoints: readonly Endpoint[], more: object = {}): EndpointSlice => ({
  metadata: { name, uid: name, resourceVersion: "1", labels, ...more },
  addressType: "IPv4",
  endpoints,
  ports,
});

function pack(existing: readonly EndpointSlice[], desired: readonly Endpoint[], maxEndpoints = 10) {
  const byKey = new Map(desired.map((each) => [endpointKey(each), each]));
  const hasOtherLabels = ({ metadata }: EndpointSlice) => metadata.labels?.["app"] !== "a";
  const addressType = "IPv4" as const;
  return packEndpoints(existing, byKey, {
    addressType,
    ports,
    labels,
    maxEndpoints,
    hasOtherLabels,
  });
}

const shape = (plan: ReturnType<typeof pack>) => ({
  create: plan.create.map(({ endpoints }) => endpoints.length),
  update: plan.update.map(
    ({ stored, endpoints }) => `${stored?.metadata.name} ${endpoints.length}`,
  ),
  delete: plan.delete.map(({ metadata }) => metadata.name),
});

describe("packEndpoints", () => {
  it("does not write slices that have the desired endpoints", () => {
    const existing = [slice("a", range(0, 5)), slice("b", range(5, 7))];
    assert.deepEqual(shape(pack(existing, range(0, 7))), { create: [], update: [], delete: [] });
  });

  it("first fills the fullest slice that is updated anyway", () => {
    const existing = [slice("a", range(0, 4)), slice("b", range(4, 12)), slice("c", range(12, 15))];
    // One endpoint of a and one of b go, four come.
    const desired = [...range(1, 4), ...range(5, 15), ...range(20, 24)];
    assert.deepEqual(shape(pack(existing, desired)), {
      create: [],
      update: ["b 10", "a 4"],
      delete: [],
    });
  });

  it("adds the remaining endpoints to the one unchanged slice that they fill best", () => {
    const existing = [slice("a", range(0, 3)), slice("b", range(3, 10)), slice("c", range(10, 19))];
    const desired = [...range(0, 19), ...range(20, 23)];
    assert.deepEqual(shape(pack(existing, desired)).update, ["b 10"]);
  });

  it("creates full slices and one with the remainder if no slice has room", () => {
    assert.deepEqual(shape(pack([], range(0, 25))).create, [10, 10, 5]);
    const existing = [slice("a", range(0, 8))];
    const desired = [...range(0, 8), ...range(20, 25)];
    assert.deepEqual(shape(pack(existing, desired)), { create: [5], update: [], delete: [] });
  });

  it("deletes slices that become empty, and relabels others", () => {
    const other = slice("b", range(3, 5), { labels: { app: "old" } });
    const plan = pack([slice("a", range(0, 3)), other], range(3, 5));
    assert.deepEqual(shape(plan), { create: [], update: ["b 2"], delete: ["a"] });
    assert.deepEqual(plan.update[0]?.labels, labels);
    assert.deepEqual([plan.added, plan.removed], [0, 3]);
  });

  it("updates a slice when an endpoint has changed", () => {
    const changed = endpoint(1, { conditions: { ready: false } });
    const plan = pack([slice("a", range(0, 3))], [endpoint(0), changed, endpoint(2)]);
    assert.deepEqual(plan.update[0]?.endpoints[1]?.conditions, { ready: false });
    const moved = endpoint(1, { zone: "z" });
    assert.equal(
      pack([slice("a", range(0, 3))], [moved, endpoint(0), endpoint(2)]).update.length,
      1,
    );
  });

  it("places each desired endpoint in exactly one slice, none above the limit", () => {
    const random = seededRandom("packing");
    let existing: EndpointSlice[] = [];
    for (let round = 0, made = 0; round < 200; round++) {
      const desired = range(0, 60).filter(() => random.below(3) > 0);
      const plan = pack(existing, desired);
      const touched = new Set([...plan.update.map(({ stored }) => stored), ...plan.delete]);
      const next = existing.filter((each) => !touched.has(each));
      for (const { stored, endpoints } of [...plan.update, ...plan.create]) {
        next.push(slice(stored?.metadata.name ?? `s${made++}`, endpoints));
      }
      const keys = next.flatMap(({ endpoints }) => endpoints.map(endpointKey));
      assert.deepEqual(keys.sort(), desired.map(endpointKey).sort());
      assert.ok(next.every(({ endpoints }) => endpoints.length > 0 && endpoints.length <= 10));
      existing = next;
    }
  });
});
