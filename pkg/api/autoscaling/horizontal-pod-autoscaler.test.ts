import assert from "node:assert/strict";
import { created, type Sketch, type Write } from "../testing.ts";
import { horizontalPodAutoscaler } from "./horizontal-pod-autoscaler.ts";

const scaleTargetRef = { kind: "Deployment", name: "d", apiVersion: "apps/v1" };
const make = (spec: Sketch, write?: Write) =>
  created(horizontalPodAutoscaler, { spec: { scaleTargetRef, maxReplicas: 3, ...spec } }, write);

function inV1(object: any): any {
  const served = horizontalPodAutoscaler.versions.find(({ version }) => version === "v1");
  assert.ok(served !== undefined && served.convert !== "hub");
  return served.convert.down(object);
}

describe("HorizontalPodAutoscaler", () => {
  it("defaults to CPU utilization", () => {
    const { object, complaints } = make({});
    assert.deepEqual(complaints, []);
    assert.equal(object.spec.minReplicas, 1);
    const target = { type: "Utilization", averageUtilization: 80 };
    assert.deepEqual(object.spec.metrics, [
      { type: "Resource", resource: { name: "cpu", target } },
    ]);
    assert.equal(inV1(object).spec.targetCPUUtilizationPercentage, 80);
  });

  it("round-trips fields that v1 lacks in annotations", () => {
    const memory = { name: "memory", target: { type: "AverageValue", averageValue: "1Gi" } };
    const metrics = [{ type: "Resource", resource: memory }];
    const behavior = { scaleDown: { stabilizationWindowSeconds: 7 } };
    const { object } = make({ metrics, behavior });
    const down = inV1(object);
    assert.deepEqual(Object.keys(down.metadata.annotations), [
      "autoscaling.alpha.kubernetes.io/metrics",
      "autoscaling.alpha.kubernetes.io/behavior",
    ]);
    const back = created(horizontalPodAutoscaler, down, { version: "v1" });
    assert.deepEqual(back.object.spec, object.spec);
    assert.deepEqual(back.object.metadata.annotations ?? {}, {});
  });

  it("accepts minReplicas 0 only with HPAScaleToZero", () => {
    assert.match(make({ minReplicas: 0 }).complaints.join(), /^Invalid spec\.minReplicas = 0/);
    const gates = ["HPAScaleToZero"];
    const metrics = [{ type: "External", external: external("5") }];
    assert.deepEqual(make({ minReplicas: 0, metrics }, { gates }).complaints, []);
  });

  it("validates bounds and targets", () => {
    assert.deepEqual(make({ minReplicas: 4 }).complaints, [
      "Invalid spec.maxReplicas = 3: must be greater than or equal to `minReplicas`",
    ]);
    const metrics = [{ type: "External", external: external("0") }];
    assert.deepEqual(make({ metrics }).complaints, [
      'Invalid spec.metrics[0].external.target.value = "0": must be positive',
    ]);
  });
});

function external(value: string): Sketch {
  return { metric: { name: "m" }, target: { type: "Value", value } };
}
