import assert from "node:assert/strict";
import type { RunningServer } from "../../../cmd/keelson/index.ts";
import { type Answer, configMap, configMaps, eventually, send, startForTests } from "./testing.ts";

const apiVersion = "admissionregistration.k8s.io/v1beta1";
const group = `/apis/${apiVersion}`;
const matchConstraints = {
  resourceRules: [
    { operations: ["*"], apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"] },
  ],
};

describe("mutating admission policies", () => {
  let server: RunningServer;
  before(async () => {
    server = await startForTests({
      featureGates: new Map([["MutatingAdmissionPolicy", "true"]]),
      runtimeConfig: new Map([[apiVersion, "true"]]),
    });
  });
  after(() => server.close());

  async function policy(name: string, spec: object) {
    const policies = `${group}/mutatingadmissionpolicies`;
    const made = await send(server, "POST", policies, {
      apiVersion,
      kind: "MutatingAdmissionPolicy",
      metadata: { name },
      spec: { matchConstraints, reinvocationPolicy: "Never", ...spec },
    });
    assert.equal(made.status, 201, made.body.message);
    const bound = await send(server, "POST", `${group}/mutatingadmissionpolicybindings`, {
      apiVersion,
      kind: "MutatingAdmissionPolicyBinding",
      metadata: { name },
      spec: { policyName: name },
    });
    assert.equal(bound.status, 201, bound.body.message);
  }

  function create(name: string, more: object = {}): Promise<Answer> {
    return send(server, "POST", `${configMaps}?dryRun=All`, configMap(name, more));
  }

  it("applies configurations and JSON patches in order", async () => {
    await policy("a", {
      matchConditions: [{ name: "good", expression: "object.metadata.name == 'a'" }],
      variables: [{ name: "n", expression: "size(object.data)" }],
      mutations: [
        {
          patchType: "ApplyConfiguration",
          applyConfiguration: {
            expression:
              "Object{metadata: Object.metadata{labels: {'n': string(variables.n)}}, " +
              "data: {'b': '2'}}",
          },
        },
        {
          patchType: "JSONPatch",
          jsonPatch: {
            expression:
              "[JSONPatch{op: 'add', path: '/data/c', value: string(variables.n)}, " +
              "JSONPatch{op: 'remove', path: '/data/a'}]",
          },
        },
      ],
    });
    const ask = () => create("a", { data: { a: "1" } });
    const { body } = await eventually(ask, (answer) => answer.body.data?.b !== undefined);
    assert.deepEqual(body.data, { b: "2", c: "2" });
    assert.deepEqual(body.metadata.labels, { n: "1" });
    const untouched = await create("other", { data: { a: "1" } });
    assert.deepEqual(untouched.body.data, { a: "1" });
  });

  it("rejects invalid mutations", async () => {
    const conditions = (name: string) => [
      { name: "mine", expression: `object.metadata.name == '${name}'` },
    ];
    await policy("b", {
      matchConditions: conditions("b"),
      mutations: [
        {
          patchType: "JSONPatch",
          jsonPatch: { expression: "[JSONPatch{op: 'remove', path: '/data/missing'}]" },
        },
      ],
    });
    await policy("c", {
      matchConditions: conditions("c"),
      mutations: [
        {
          patchType: "ApplyConfiguration",
          applyConfiguration: { expression: "Object{immutable: object.data.nothing}" },
        },
      ],
    });
    const { status, body } = await eventually(
      () => create("c"),
      (answer) => answer.status > 300,
    );
    assert.equal(status, 403);
    assert.match(body.message, /^policy 'c' with binding 'c' denied request: expression /);
    assert.equal((await create("b")).status, 403);
  });
});
