import assert from "node:assert/strict";
import type { Pod } from "#kinds";
import { domainOf } from "#meta";
import { inDeletionOrder } from "./deletion-order.ts";

const now = Date.parse("2030-01-01T12:00:00Z");
const ago = (seconds: number) => new Date(now - seconds * 1000).toISOString();

interface Shape {
  readonly node?: string;
  readonly phase?: NonNullable<Pod["status"]>["phase"];
  readonly readyFor?: number;
  readonly cost?: string;
  readonly restarts?: number;
  readonly sidecarRestarts?: number;
  readonly age?: number;
}

function podOf(name: string, shape: Shape): Pod {
  const { node = "n", phase = "Running", readyFor, cost, restarts = 0, age = 60 } = shape;
  const annotations =
    cost === undefined ? {} : { "controller.kubernetes.io/pod-deletion-cost": cost };
  const ready = { type: "Ready", status: "True", lastTransitionTime: ago(readyFor ?? 0) } as const;
  const sidecars = [{ name: "s", restartCount: shape.sidecarRestarts ?? 0 }];
  return {
    metadata: {
      name,
      uid: name,
      resourceVersion: "1",
      creationTimestamp: ago(age),
      annotations,
    },
    spec: { nodeName: node, initContainers: [{ name: "s", restartPolicy: "Always" }] },
    status: {
      phase,
      conditions: readyFor === undefined ? [] : [ready],
      containerStatuses: [{ name: "c", restartCount: restarts }],
      initContainerStatuses: sidecars,
    },
  };
}

function order(shapes: Readonly<Record<string, Shape>>, colocated: Record<string, number> = {}) {
  const pods = Object.entries(shapes).map(([name, shape]) => podOf(name, shape));
  const domain = domainOf();
  const options = { colocated: new Map(Object.entries(colocated)), now, domain, hasCost: true };
  const sorted = inDeletionOrder(pods, options).map(({ metadata }) => metadata.name);
  const reversed = inDeletionOrder(pods.toReversed(), options).map((pod) => pod.metadata.name);
  assert.deepEqual(reversed, sorted);
  return sorted.join(" ");
}

describe("inDeletionOrder", () => {
  it("sorts unassigned pods first, then pending, unknown and running ones", () => {
    const shapes: Readonly<Record<string, Shape>> = {
      running: {},
      unknown: { phase: "Unknown" },
      pending: { phase: "Pending" },
      unassigned: { node: "", phase: "Running" },
    };
    assert.equal(order(shapes), "unassigned pending unknown running");
  });

  it("sorts not ready pods before ready ones, regardless of deletion cost", () => {
    assert.equal(order({ ready: { readyFor: 9, cost: "-9" }, b: { cost: "9" } }), "b ready");
  });

  it("sorts by deletion cost, with 0 for an invalid one", () => {
    const shapes = { a: { cost: "10" }, b: { cost: "-10" }, c: { cost: "+20" } };
    assert.equal(order(shapes), "b c a");
    assert.equal(order({ a: { cost: "1" }, b: { cost: "007" } }), "b a");
    assert.equal(order({ a: { cost: "1" }, b: { cost: "99999999999" } }), "b a");
  });

  it("prefers nodes with more related pods", () => {
    const shapes = { a: { node: "x" }, b: { node: "y" }, c: { node: "z" } };
    assert.equal(order(shapes, { x: 1, y: 3, z: 2 }), "b c a");
  });

  it("prefers pods that are ready for a shorter time, by powers of two", () => {
    const shapes = { a: { readyFor: 1000 }, b: { readyFor: 10 }, c: { readyFor: 100 } };
    assert.equal(order(shapes), "b c a");
    assert.equal(order({ b: { readyFor: 1000 }, a: { readyFor: 1001 } }), "a b");
  });

  it("prefers more restarts, then more restarts of sidecars, then younger pods", () => {
    const shapes = { a: { restarts: 1 }, b: { restarts: 2 }, c: { sidecarRestarts: 9 } };
    assert.equal(order(shapes), "b a c");
    assert.equal(order({ a: { age: 1000 }, b: { age: 10 }, c: { sidecarRestarts: 1 } }), "c b a");
  });
});
