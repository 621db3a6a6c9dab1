import assert from "node:assert/strict";
import { created, type Sketch, updated } from "../testing.ts";
import { controllerRevision } from "./controller-revision.ts";
import { daemonSet } from "./daemon-set.ts";
import { deployment } from "./deployment.ts";
import { replicaSet } from "./replica-set.ts";
import { statefulSet } from "./stateful-set.ts";

const labels = { app: "a" };
const podSpec = { containers: [{ name: "c", image: "i" }] };
const template = { metadata: { labels }, spec: podSpec };
const base = { selector: { matchLabels: labels }, template };
const kinds = { deployment, replicaSet, daemonSet, statefulSet };

for (const [name, kind] of Object.entries(kinds)) {
  const make = (spec: Sketch) => created(kind, { spec: { ...base, ...spec } });

  describe(name, () => {
    it("requires a selector that matches the template", () => {
      assert.deepEqual(make({}).complaints, []);
      const other = { ...template, metadata: { labels: { app: "b" } } };
      assert.deepEqual(make({ template: other }).complaints, [
        'Invalid spec.template.metadata.labels = {"app":"b"}: ' +
          "`selector` does not match template `labels`",
      ]);
      assert.notDeepEqual(make({ selector: undefined }).complaints, []);
    });

    it("requires restartPolicy Always", () => {
      const once = { ...template, spec: { ...podSpec, restartPolicy: "Never" } };
      assert.deepEqual(make({ template: once }).complaints, [
        'NotSupported spec.template.spec.restartPolicy = "Never": supported values: "Always"',
      ]);
    });

    if (name !== "replicaSet")
      it("rejects decreases of collisionCount, and prints an absent one as 0", () => {
        const old = make({});
        const write = (status: Sketch) =>
          updated(kind, old, { spec: base, status }, { subresource: "status" }).complaints;
        old.object.status.collisionCount = 2;
        assert.deepEqual(write({ collisionCount: 3 }), []);
        for (const [now, shown] of [
          [1, 1],
          [undefined, 0],
        ]) {
          const complaint = `Invalid status.collisionCount = ${shown}: cannot be decremented`;
          assert.deepEqual(write({ collisionCount: now }), [complaint]);
        }
      });

    it("rejects changes of the selector", () => {
      const app = { app: "a", more: "b" };
      const moved = { ...template, metadata: { labels: app } };
      const spec = { selector: { matchLabels: app }, template: moved };
      const { complaints } = updated(kind, make({}), { spec });
      assert.match(complaints.join(), /field is immutable|updates to statefulset spec for fields/);
    });
  });
}

describe("Deployment rolling update", () => {
  const make = (rollingUpdate: Sketch) =>
    created(deployment, { spec: { ...base, strategy: { rollingUpdate } } });

  it("defaults to 25 % maxSurge and maxUnavailable", () => {
    const { strategy, progressDeadlineSeconds } = make({}).object.spec;
    assert.deepEqual(strategy, {
      type: "RollingUpdate",
      rollingUpdate: { maxUnavailable: "25%", maxSurge: "25%" },
    });
    assert.equal(progressDeadlineSeconds, 600);
  });

  it("rejects maxSurge and maxUnavailable of 0", () => {
    assert.deepEqual(make({ maxUnavailable: 0, maxSurge: "0%" }).complaints, [
      "Invalid spec.strategy.rollingUpdate.maxUnavailable = 0: " +
        "may not be 0 when `maxSurge` is 0",
    ]);
  });
});

describe("DaemonSet template generation", () => {
  const key = "deprecated.daemonset.template.generation";
  const write = { spec: base };

  it("increases with changes of the template", () => {
    const old = created(daemonSet, write);
    assert.equal(old.object.metadata.annotations[key], "1");
    const same = updated(daemonSet, old, write);
    assert.equal(same.object.metadata.annotations[key], "1");
    const moved = { ...template, spec: { ...podSpec, nodeName: "n" } };
    const next = updated(daemonSet, old, { spec: { ...base, template: moved } });
    assert.equal(next.object.metadata.annotations[key], "2");
  });
});

describe("StatefulSet rolling update", () => {
  it("rejects a negative partition", () => {
    const updateStrategy = { rollingUpdate: { partition: -1 } };
    assert.deepEqual(created(statefulSet, { spec: { ...base, updateStrategy } }).complaints, [
      "Invalid spec.updateStrategy.rollingUpdate.partition = -1: " +
        "must be greater than or equal to 0",
    ]);
  });
});

describe("a stored StatefulSet", () => {
  const claims = [{ metadata: { name: "d" }, spec: { accessModes: ["Sometimes"] } }];
  const spec = { ...base, serviceName: "a.b", volumeClaimTemplates: claims };

  it("may violate newer rules in immutable fields", () => {
    const old = created(statefulSet, { spec });
    assert.equal(old.complaints.length, 3);
    assert.deepEqual(updated(statefulSet, old, { spec: { ...spec, replicas: 2 } }).complaints, []);
  });

  it("may keep a template that violates a rule already", () => {
    const broken = { ...template, spec: { containers: [{ name: "C", image: "i" }] } };
    const change = (from: Sketch) =>
      updated(statefulSet, created(statefulSet, { spec: { ...base, template: from } }), {
        spec: { ...base, template: broken },
      }).complaints;
    assert.deepEqual(change(broken), []);
    assert.match(change(template).join(), /containers\[0\].name = "C"/);
  });
});

for (const kind of [deployment, replicaSet]) {
  it(`${kind.kind} drops new terminatingReplicas if the gate is disabled`, () => {
    const gates = ["DeploymentReplicaSetTerminatingReplicas"];
    const old = created(kind, { spec: base });
    const write = (terminatingReplicas: number, on: readonly string[]) =>
      updated(
        kind,
        old,
        { spec: base, status: { replicas: 1, terminatingReplicas } },
        { subresource: "status", gates: on },
      ).object;
    assert.equal(write(2, []).status.terminatingReplicas, undefined);
    const set = write(2, gates);
    assert.equal(set.status.terminatingReplicas, 2);
    old.object.status = set.status;
    assert.equal(write(3, []).status.terminatingReplicas, 3);
  });
}

describe("ControllerRevision data", () => {
  const make = (data: unknown) => created(controllerRevision, { data, revision: 1 });
  const complaints = (data: unknown) => make(data).complaints;
  it("may be any object", () => {
    for (const data of [{}, { spec: { a: [1] } }]) assert.deepEqual(complaints(data), []);
  });
  it("rejects other values", () => {
    for (const data of ["text", "", 0, 5, true, false, [], [{}]]) {
      assert.deepEqual(complaints(data), ["Required data: data must be a valid JSON object"]);
    }
    for (const data of [null, undefined]) {
      assert.deepEqual(complaints(data), ["Required data: data is mandatory"]);
    }
  });
  it("may stay invalid when the rest of an old revision changes", () => {
    const old = make("text");
    const next = (data: unknown) => updated(controllerRevision, old, { data, revision: 2 });
    assert.deepEqual(next("text").complaints, []);
    assert.deepEqual(next("other").complaints, ['Invalid data = "other": field is immutable']);
  });
});
