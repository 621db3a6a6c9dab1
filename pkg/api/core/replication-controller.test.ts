import assert from "node:assert/strict";
import { created, updated } from "../testing.ts";
import { podTemplate } from "./pod-template.ts";
import { replicationController } from "./replication-controller.ts";

const containers = [
  { name: "a", image: "nginx:1" },
  { name: "b", image: "redis:2" },
];
const template = { metadata: { labels: { app: "x" } }, spec: { containers } };

describe("ReplicationController", () => {
  it("defaults labels and selector to those of the template, and replicas to 1", () => {
    const { object, complaints } = created(replicationController, { spec: { template } });
    assert.deepEqual(complaints, []);
    assert.deepEqual(object.spec.selector, { app: "x" });
    assert.deepEqual(object.metadata.labels, { app: "x" });
    assert.equal(object.spec.replicas, 1);
    assert.equal(object.spec.template.spec.dnsPolicy, "ClusterFirst");
    const row = replicationController.row(object, { now: 0 });
    assert.deepEqual(row, ["x", 1, 0, 0, "<unknown>", "a,b", "nginx:1,redis:2", "app=x"]);
  });

  it("requires a matching template with restartPolicy Always", () => {
    const spec = { ...template.spec, restartPolicy: "Never" };
    const sketch = { spec: { selector: { app: "y" }, template: { ...template, spec } } };
    assert.deepEqual(created(replicationController, sketch).complaints, [
      'Invalid spec.template.metadata.labels = {"app":"x"}: ' +
        "`selector` does not match template `labels`",
      'NotSupported spec.template.spec.restartPolicy = "Never": supported values: "Always"',
    ]);
    assert.deepEqual(created(replicationController, { spec: {} }).complaints, [
      "Required spec.selector",
      "Required spec.template",
    ]);
  });

  it("rejects more ready than total replicas", () => {
    const old = created(replicationController, { spec: { template } });
    const sketch = { spec: { template }, status: { replicas: 1, readyReplicas: 2 } };
    const { complaints } = updated(replicationController, old, sketch, { subresource: "status" });
    assert.deepEqual(complaints, [
      "Invalid status.readyReplicas = 2: cannot be greater than status.replicas",
    ]);
  });
});

describe("PodTemplate", () => {
  it("is validated as a pod template", () => {
    assert.deepEqual(created(podTemplate, { template }).complaints, []);
    const bad = { template: { spec: { containers: [], ephemeralContainers: containers } } };
    assert.deepEqual(created(podTemplate, bad).complaints, [
      "Required template.spec.containers",
      "Forbidden template.spec.ephemeralContainers: " +
        "ephemeral containers not allowed in pod template",
    ]);
  });

  it("accepts spaces around images, which pods do not", () => {
    const spec = { containers: [{ name: "a", image: " x" }] };
    assert.deepEqual(created(podTemplate, { template: { spec } }).complaints, []);
  });
});
