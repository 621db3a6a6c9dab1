import assert from "node:assert/strict";
import type { Node, StageSpec } from "#kinds";
import { refusal } from "../../../registry/testing.ts";
import { type NodesTest, startNodes } from "../../testing.ts";
import { StageSource } from "../testing.ts";

const pods = { resourceRef: { kind: "Pod" } };
const isLive = { key: ".metadata.deletionTimestamp", operator: "DoesNotExist" };
const inPhase = (...values: readonly string[]) => ({
  key: ".status.phase",
  operator: "In",
  values,
});
const status = (template: string) => ({ next: { statusTemplate: template } });

const ready: StageSpec = {
  ...pods,
  selector: { matchExpressions: [isLive, inPhase("Pending")] },
  delay: { durationMilliseconds: 2_000 },
  ...status(`
    {{ $now := Now }}
    phase: Running
    startTime: {{ $now | Quote }}
    podIP: {{ PodIPWith .spec.nodeName false .metadata.uid .metadata.name .metadata.namespace }}
    hostIP: {{ NodeIPWith .spec.nodeName }}
    conditions:
    - { type: Ready, status: "True", lastTransitionTime: {{ $now | Quote }} }
    containerStatuses:
    {{ range .spec.containers }}
    - name: {{ .name | Quote }}
      image: {{ .image }}
      imageID: ""
      ready: true
      restartCount: 0
      state: { running: { startedAt: {{ $now | Quote }} } }
    {{ end }}
  `),
};

/** Lets the API server tell that it serves Stages. */
async function establish({ test, pass }: NodesTest): Promise<void> {
  const conditions = [{ type: "Established", status: "True", reason: "Test", message: "" }];
  const path = "apiextensions.k8s.io/v1/customresourcedefinitions//stages.kwok.x-k8s.io/status";
  await test.patch(path, { status: { conditions } });
  await pass(1_000);
}

describe("Stages", () => {
  let source: StageSource;
  let run: NodesTest;
  const start = async (stages: Readonly<Record<string, StageSpec>>, seed = "1") => {
    source = new StageSource();
    for (const [name, spec] of Object.entries(stages)) source.put(name, spec);
    run = await startNodes({ seed }, undefined, source);
    await establish(run);
  };
  afterEach(() => run.stop());
  const seenOf = async (name: string) => {
    const { status: now } = await run.pod(name);
    return [now?.phase, now?.podIP, now?.conditions?.map(({ type }) => type).join()];
  };
  const events = async () => {
    const names = await run.test.names("events.k8s.io/v1/events/ns");
    const all = await Promise.all(
      names.map((name) => run.test.get(`events.k8s.io/v1/events/ns/${name}`)),
    );
    return all
      .filter(({ object }) => object.reportingComponent !== "kubelet")
      .map(({ object }) => `${object.type} ${object.reason} ${object.message}`);
  };

  it("replace the built-in simulation of the pods that they select, after their delay", async () => {
    await start({
      ready: { ...ready, selector: { ...ready.selector, matchLabels: { app: "s" } } },
    });
    await run.createPod("staged", { metadata: { labels: { app: "s" } } });
    await run.createPod("other", {});
    assert.deepEqual(await seenOf("staged"), ["Pending", undefined, undefined]);
    assert.equal((await run.pod("other")).status?.phase, "Running");
    await run.pass(2_000);
    assert.deepEqual(await seenOf("staged"), ["Running", "10.128.0.3", "Ready"]);
    await run.pass(60_000);
    assert.deepEqual(await seenOf("staged"), ["Running", "10.128.0.3", "Ready"]);
    assert.deepEqual(run.reports, []);
  });

  it("let the kubelet terminate a pod that no Stage selects", async () => {
    await start({ ready });
    await run.createPod("p", {});
    await run.pass(2_000);
    await run.test.remove("v1/pods/ns/p");
    await run.pass(1_000);
    assert.match(await refusal(run.test.get("v1/pods/ns/p")), /^404/);
    await run.createPod("q", {});
    await run.pass(2_000);
    assert.equal((await run.pod("q")).status?.phase, "Running");
  });

  it("delete, with an event and finalizers before", async () => {
    const selector = { matchExpressions: [{ ...isLive, operator: "Exists" }] };
    const event = { type: "Normal", reason: "Ending", message: "it ends" };
    const finalizers = { remove: [{ value: "example.com/x" }] };
    await start({ ready, end: { ...pods, selector, next: { event, finalizers, delete: true } } });
    await run.createPod("p", { metadata: { finalizers: ["example.com/x"] } });
    await run.pass(2_000);
    await run.test.remove("v1/pods/ns/p");
    await run.pass(1_000);
    assert.match(await refusal(run.test.get("v1/pods/ns/p")), /^404/);
    assert.deepEqual(await events(), ["Normal Ending it ends"]);
  });

  it("apply each of their steps once", async () => {
    const key = '.metadata.annotations["mark"]';
    const steps = [
      { finalizers: { add: [{ value: "example.com/a" }] } },
      { patch: { root: "metadata", template: 'annotations: { mark: "1" }', type: "merge" } },
      {
        patch: {
          template: '[{"op":"add","path":"/metadata/labels","value":{"l":"2"}}]',
          type: "json",
        },
      },
      { event: { reason: "Marked", message: "once" } },
    ];
    const selector = { matchExpressions: [{ key, operator: "DoesNotExist" }] };
    await start({ mark: { ...pods, selector, steps } });
    await run.createPod("p", {});
    await run.pass(5_000);
    const { metadata } = await run.pod("p");
    assert.deepEqual(metadata.finalizers, ["example.com/a"]);
    assert.deepEqual([metadata.annotations, metadata.labels], [{ mark: "1" }, { l: "2" }]);
    assert.deepEqual(await events(), ["Normal Marked once"]);
  });

  it("are chosen by weight and delayed by annotations, reproducibly by seed", async () => {
    const fail = (exitCode: number): StageSpec => ({
      ...pods,
      selector: { matchExpressions: [isLive, inPhase("Pending")] },
      weight: 1,
      weightFrom: { expressionFrom: `.metadata.annotations["weight-${exitCode}"]` },
      delay: {
        durationMilliseconds: 1_000,
        durationFrom: { jq: { expression: ".metadata.annotations.delay" } },
        jitterDurationMilliseconds: 3_000,
        jitterDurationFrom: { expressionFrom: ".metadata.annotations.jitter" },
      },
      ...status(`{ phase: Failed, reason: "code-${exitCode}" }`),
    });
    const stages = { one: fail(1), two: fail(2) };
    const outcome = async (seed: string) => {
      await start(stages, seed);
      const annotations = { "weight-2": "0", delay: "30s", jitter: "40s" };
      await run.createPod("chosen", { metadata: { annotations } });
      for (let at = 0; at < 12; at++) await run.createPod(`p-${at}`, {});
      await run.pass(3_000);
      assert.equal((await run.pod("chosen")).status?.phase, "Pending");
      await run.pass(37_000);
      assert.equal((await run.pod("chosen")).status?.reason, "code-1");
      const reasons = await Promise.all(
        Array.from({ length: 12 }, async (_, at) => (await run.pod(`p-${at}`)).status?.reason),
      );
      return reasons.join();
    };
    const first = await outcome("a");
    assert.deepEqual([...new Set(first.split(","))].sort(), ["code-1", "code-2"]);
    await run.stop();
    assert.equal(await outcome("a"), first);
    await run.stop();
    assert.notEqual(await outcome("b"), first);
  });

  it("follow one another immediately if they have no delay", async () => {
    const step = (from: string, to: string): StageSpec => ({
      ...pods,
      selector: {
        matchExpressions: [{ key: '.status.reason // "none"', operator: "In", values: [from] }],
      },
      immediateNextStage: true,
      ...status(`reason: ${to}`),
    });
    await start({ a: step("none", "b"), b: step("b", "c"), c: step("c", "d") });
    assert.equal((await run.createPod("p", {})).status?.reason, "d");
  });

  it("are slowed down if they select their own result", async () => {
    await start({
      loop: {
        ...pods,
        selector: {},
        ...status("message: {{ add (int .status.message) 1 | quote }}"),
      },
    });
    await run.createPod("p", {});
    await run.pass(5_000);
    const count = Number((await run.pod("p")).status?.message);
    assert.ok(count >= 20 && count <= 30, String(count));
  });

  it("record an Event for a template that fails on an object, and retry when it changes", async () => {
    const template = "phase: Running\nreason: {{ index .metadata.annotations `r` | Quote }}";
    await start({ ready: { ...ready, ...status(template) } });
    await run.createPod("p", {});
    await run.pass(10_000);
    assert.deepEqual(await events(), [
      "Warning StageFailed Stage ready: line 2: index of untyped nil",
    ]);
    assert.equal(run.reports.length, 1);
    await run.test.patch("v1/pods/ns/p", { metadata: { annotations: { r: "x" } } });
    await run.pass(2_000);
    assert.equal((await run.pod("p")).status?.reason, "x");
  });

  it("have a condition with the reason of a rejection until they are accepted", async () => {
    const other: StageSpec = {
      ...ready,
      selector: { matchExpressions: [{ key: ".a | test(1)" }] },
    };
    await start({ other, kinds: { ...ready, resourceRef: { kind: "Gadget" }, next: {} } });
    const conditionOf = (name: string) => {
      const [condition] = source.get(name)?.status?.conditions ?? [];
      return [condition?.type, condition?.status, condition?.message];
    };
    const message = '".a | test(1)": function not supported: test/1';
    assert.deepEqual(conditionOf("other"), ["Accepted", "False", message]);
    assert.equal(conditionOf("kinds")[2], 'no matches for kind "Gadget" in version "v1"');
    assert.equal(run.reports.length, 2);
    assert.equal((await run.createPod("p", {})).status?.phase, "Running");
    source.put("other", ready);
    await run.pass(1_000);
    assert.deepEqual(conditionOf("other"), ["Accepted", "True", ""]);
    await run.createPod("q", {});
    assert.equal((await run.pod("q")).status?.phase, "Pending");
  });

  it("reject unsupported fields", async () => {
    const faults: Readonly<Record<string, Partial<StageSpec>>> = {
      'template: line 1: function "nope" not defined': status("{{ nope }}"),
      "impersonation is not supported for Pods and Nodes": {
        next: { statusTemplate: "a: b", statusPatchAs: { username: "admin" } },
      },
      'subresource "eviction" is not supported': {
        steps: [{ patch: { subresource: "eviction", template: "{}" } }],
      },
      'patch type "apply" is not supported': { steps: [{ patch: { type: "apply" } }] },
      'apply type "json" is not supported': { steps: [{ apply: { type: "json" } }] },
      "In needs values": { selector: { matchExpressions: [{ key: ".a", operator: "In" }] } },
      'operator "Gt" is not supported': {
        selector: { matchExpressions: [{ key: ".a", operator: "Gt", values: ["1"] }] },
      },
      '".[": unexpected end': { delay: { durationFrom: { expressionFrom: ".[" } } },
    };
    const names = Object.keys(faults);
    await start(
      Object.fromEntries(names.map((fault, at) => [`s-${at}`, { ...ready, ...faults[fault] }])),
    );
    const messages = names.map((_, at) => source.get(`s-${at}`)?.status?.conditions?.[0]?.message);
    assert.deepEqual(messages, names);
  });

  it("match by CEL expressions", async () => {
    const selector = {
      matchExpressions: [
        { cel: { expression: 'self.metadata.name.startsWith("s")' } },
        inPhase("Pending"),
      ],
    };
    const durationFrom = { cel: { expression: 'duration("1m")' } };
    await start({ ready: { ...ready, selector, delay: { durationFrom } } });
    await run.createPod("s", {});
    await run.createPod("p", {});
    assert.equal((await run.pod("p")).status?.phase, "Running");
    await run.pass(59_000);
    assert.equal((await run.pod("s")).status?.phase, "Pending");
    await run.pass(1_000);
    assert.equal((await run.pod("s")).status?.phase, "Running");
  });

  it("return pods to the built-in simulation when they are deleted", async () => {
    await start({ ready });
    await run.createPod("p", {});
    assert.equal((await run.pod("p")).status?.phase, "Pending");
    source.remove("ready");
    await run.pass(1_000);
    assert.match(String((await seenOf("p"))[2]), /PodReadyToStartContainers/);
  });

  it("keep their pods over a restart of the process", async () => {
    await start({ ready });
    await run.createPod("p", {});
    await run.pass(2_000);
    const before = await run.pod("p");
    await run.stop();
    run = await startNodes({}, run.test, source);
    await run.pass(10_000);
    assert.deepEqual((await run.pod("p")).status, before.status);
  });
});

describe("Stages of other kinds", () => {
  let run: NodesTest;
  const configMaps = { resourceRef: { apiGroup: "v1", kind: "ConfigMap" } };
  const start = async (stages: Readonly<Record<string, StageSpec>>) => {
    const source = new StageSource();
    for (const [name, spec] of Object.entries(stages)) source.put(name, spec);
    run = await startNodes({ seed: "1" }, undefined, source);
    await establish(run);
    return source;
  };
  const create = (name: string, more: object = {}) =>
    run.test.post("v1/configmaps/ns", { metadata: { name }, ...more });
  const dataOf = async (name: string) => (await run.test.get(`v1/configmaps/ns/${name}`)).object;
  afterEach(() => run.stop());

  it("patch, add finalizers and delete, after their delay", async () => {
    const lacks = (key: string) => ({ key, operator: "DoesNotExist" });
    await start({
      fill: {
        ...configMaps,
        selector: { matchLabels: { app: "s" }, matchExpressions: [lacks(".data.at")] },
        delay: { durationFrom: { expressionFrom: ".metadata.annotations.delay" } },
        next: {
          finalizers: { add: [{ value: "example.com/s" }] },
          patches: [
            { root: "data", template: "{ at: {{ Now | Quote }}, type: {{ .kind | Quote }} }" },
            { type: "json", template: '[{ op: add, path: "/data/json", value: "yes" }]' },
          ],
        },
      },
      end: {
        ...configMaps,
        selector: { matchExpressions: [{ cel: { expression: "has(self.data.end)" } }] },
        next: { finalizers: { empty: true }, delete: true },
      },
    });
    const metadata = { labels: { app: "s" }, annotations: { delay: "5s" }, name: "one" };
    await create("one", { metadata });
    await create("other");
    await run.pass(4_000);
    assert.equal((await dataOf("one")).data, undefined);
    await run.pass(2_000);
    const { data, metadata: written } = await dataOf("one");
    assert.deepEqual([data.type, data.json], ["ConfigMap", "yes"]);
    assert.deepEqual(written.finalizers, ["example.com/s"]);
    assert.equal((await dataOf("other")).data, undefined);
    await run.test.patch("v1/configmaps/ns/one", { data: { end: "now" } });
    await run.pass(1_000);
    assert.match(await refusal(run.test.get("v1/configmaps/ns/one")), /^404/);
    assert.deepEqual(run.reports, []);
  });

  it("apply objects of any kind, which are created or patched", async () => {
    const selector = { matchExpressions: [{ key: ".data.secret", operator: "Exists" }] };
    const apply = {
      template: [
        "apiVersion: v1",
        "kind: Secret",
        "metadata: { name: {{ .data.secret }} }",
        "stringData: { from: {{ .metadata.name }} }",
      ].join("\n"),
    };
    await start({ apply: { ...configMaps, selector, steps: [{ apply }] } });
    const fromOf = async () => {
      const { object } = await run.test.get("v1/secrets/ns/made");
      return Buffer.from(object.data.from, "base64").toString();
    };
    await create("one", { data: { secret: "made" } });
    await run.pass(1_000);
    assert.equal(await fromOf(), "one");
    await create("two", { data: { secret: "made" } });
    await run.pass(1_000);
    assert.equal(await fromOf(), "two");
  });

  it("act on subresources as another user", async () => {
    const template = "conditions: [{ type: Made, status: 'True', message: {{ .kind }} }]";
    await start({
      status: {
        resourceRef: { apiGroup: "apps/v1", kind: "Deployment" },
        selector: { matchExpressions: [{ key: ".status.conditions", operator: "DoesNotExist" }] },
        next: { statusTemplate: template, statusPatchAs: { username: "deployer" } },
      },
    });
    const spec = {
      selector: { matchLabels: { app: "a" } },
      template: {
        metadata: { labels: { app: "a" } },
        spec: { containers: [{ name: "app", image: "nginx" }] },
      },
    };
    await run.test.post("apps/v1/deployments/ns", { metadata: { name: "d" }, spec });
    await run.pass(1_000);
    const { object } = await run.test.get("apps/v1/deployments/ns/d");
    assert.equal(object.status.conditions[0].message, "Deployment");
  });

  it("are slowed down if they select their own result", async () => {
    const template = "{ count: {{ add (int .data.count) 1 | quote }} }";
    const immediateNextStage = true;
    const next = { patches: [{ root: "data", template }] };
    await start({ loop: { ...configMaps, selector: {}, immediateNextStage, next } });
    await create("c", { data: { count: "0" } });
    await run.pass(5_000);
    const count = Number((await dataOf("c")).data.count);
    assert.ok(count >= 20 && count <= 30, String(count));
  });

  it("end with the last Stage of their kind", async () => {
    const next = { patches: [{ root: "data", template: "{ done: yes }" }] };
    const source = await start({ only: { ...configMaps, selector: {}, next } });
    source.remove("only");
    await run.pass(1_000);
    await create("c");
    await run.pass(1_000);
    assert.equal((await dataOf("c")).data, undefined);
  });
});

describe("Stages of nodes", () => {
  const nodes = { resourceRef: { apiGroup: "v1", kind: "Node" } };
  const readyIs = (operator: string) => ({
    key: '.status.conditions.[] | select( .type == "Ready" ) | .status',
    operator,
    values: ["True"],
  });
  const conditions = (readyStatus: string) =>
    [
      "conditions:",
      "{{ range NodeConditions }}",
      "- lastHeartbeatTime: {{ Now | Quote }}",
      "  lastTransitionTime: {{ Now | Quote }}",
      "  type: {{ .type }}",
      "  message: {{ .message }}",
      "  reason: {{ .reason }}",
      `  {{ $status := .status }}{{ if eq .type "Ready" }}{{ $status = ${readyStatus} }}{{ end }}`,
      "  status: {{ $status | Quote }}",
      "{{ end }}",
      "allocatable:",
      "{{ YAML .status.allocatable 1 }}",
      "phase: Running",
    ].join("\n");
  const broken = { key: ".metadata.labels.broken", operator: "Exists" };

  it("make new nodes ready in place of the built-in simulation, and break them", async () => {
    const source = new StageSource();
    const intact = { ...broken, operator: "DoesNotExist" };
    source.put("initialize", {
      ...nodes,
      selector: { matchExpressions: [readyIs("NotIn"), intact] },
      delay: { durationMilliseconds: 5_000 },
      ...status(conditions(".status")),
    });
    source.put("break", {
      ...nodes,
      selector: { matchExpressions: [inPhase("Running"), readyIs("In"), broken] },
      ...status(conditions('"False"')),
    });
    let run = await startNodes({}, undefined, source);
    await establish(run);
    await run.stop();
    await run.test.remove("v1/nodes//hollow-0");
    run = await startNodes({}, run.test, source);
    const readiness = async () => {
      const node: Node = (await run.test.get("v1/nodes//hollow-0")).object;
      const condition = node.status?.conditions?.find(({ type }) => type === "Ready");
      return [node.status?.phase, condition?.status, node.status?.allocatable?.["cpu"]];
    };
    await run.pass(1_000);
    assert.deepEqual(await readiness(), [undefined, undefined, "8"]);
    await run.pass(5_000);
    assert.deepEqual(await readiness(), ["Running", "True", "8"]);
    await run.test.patch("v1/nodes//hollow-0", { metadata: { labels: { broken: "" } } });
    await run.pass(1_000);
    assert.deepEqual(await readiness(), ["Running", "False", "8"]);
    await run.pass(600_000);
    assert.deepEqual(await readiness(), ["Running", "False", "8"]);
    await run.test.patch("v1/nodes//hollow-0", { metadata: { labels: { broken: null } } });
    await run.pass(5_000);
    assert.deepEqual(await readiness(), ["Running", "True", "8"]);
    assert.deepEqual(run.reports, []);
    await run.stop();
  });
});
