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

  /** The message of the refusal of a ConfigMap by a policy with these mutations, or its data. */
  async function outcome(name: string, mutations: readonly object[], more: object = {}) {
    const matched = { ...matchConstraints, objectSelector: { matchLabels: { of: name } } };
    await policy(name, { matchConstraints: matched, mutations, ...more });
    const metadata = { name, labels: { of: name } };
    const ask = () => create(name, { metadata, data: { a: "1" } });
    const { body } = await eventually(ask, ({ body: { data, message } }) => {
      return message !== undefined || data.a !== "1" || Object.keys(data).length > 1;
    });
    return body;
  }

  const applied = (expression: string) => ({
    patchType: "ApplyConfiguration",
    applyConfiguration: { expression },
  });
  const patched = (expression: string) => ({ patchType: "JSONPatch", jsonPatch: { expression } });
  const missing = (key: string) => patched(`[JSONPatch{op: 'remove', path: '/data/${key}'}]`);

  it("skips failed mutations and reports all of them", async () => {
    const mutations = [missing("x"), applied("Object{data: {'b': '2'}}"), missing("y")];
    const refused = await outcome("d", mutations);
    const denied = (key: string) =>
      "policy 'd' with binding 'd' denied request: JSON Patch: error in remove for path: " +
      `'/data/${key}': Unable to remove nonexistent key: ${key}: missing value`;
    assert.equal(refused.code, 403);
    assert.equal(refused.message, denied("x"));
    const causes = [{ message: denied("x") }, { message: denied("y") }];
    assert.deepEqual(refused.details.causes, causes);
    const { data } = await outcome("e", mutations, { failurePolicy: "Ignore" });
    assert.deepEqual(data, { a: "1", b: "2" });
  });

  it("names a policy whose paramKind does not exist without its binding", async () => {
    const paramKind = { apiVersion: "example.com/v1", kind: "Missing" };
    const { message } = await outcome("f", [applied("Object{}")], { paramKind });
    assert.equal(
      message,
      'policy "f" denied request: failed to configure policy: failed to find resource referenced by ' +
        "paramKind: 'example.com/v1, Kind=Missing'",
    );
  });

  it("reinvokes a policy after its own change", async () => {
    const expression = "Object{data: {'a': object.data.a + '+'}}";
    const twice = await outcome("g", [applied(expression)], { reinvocationPolicy: "IfNeeded" });
    assert.equal(twice.data.a, "1++");
    assert.equal((await outcome("h", [applied(expression)])).data.a, "1+");
  });

  it("rejects configurations and patches as kube-apiserver does", async () => {
    const problem = async (name: string, mutation: object): Promise<string> => {
      const { message } = await outcome(name, [mutation]);
      return message.replace(/^policy '.*' with binding '.*' denied request: /, "");
    };
    const untyped = "error applying patch: failed to convert patch object to typed object";
    assert.equal(
      await problem("i", applied("Object{data: null}")),
      `${untyped}: .data: expected map, got &{NULL_VALUE}`,
    );
    assert.equal(
      await problem("j", applied("Object{data: {'a': b'ab'}}")),
      `${untyped}: .data.a: expected string, got &value.valueUnstructured{Value:[]uint8{0x61, 0x62}}`,
    );
    const times = "timestamp('2020-01-02T03:04:05Z')";
    assert.equal(
      await problem("k", applied(`Object{metadata: Object.metadata{creationTimestamp: ${times}}}`)),
      `${untyped}: .metadata.creationTimestamp: expected any scalar, got &{2020-01-02 03:04:05 +0000 UTC}`,
    );
    assert.equal(
      await problem("l", applied("Object{binaryData: {'a': '!!'}}")),
      "unable to convert unstructured object to /v1, Kind=ConfigMap: error decoding from json: " +
        "illegal base64 data at input byte 0",
    );
    const owner = "Object.metadata.ownerReferences{uid: '1'}";
    assert.equal(
      await problem("m", applied(`Object{metadata: Object.metadata{ownerReferences: [${owner}]}}`)),
      "error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: " +
        ".metadata.ownerReferences[0]",
    );
    const add = (path: string, value: string) =>
      patched(`[JSONPatch{op: 'add', path: '${path}', value: ${value}}]`);
    const internal = "Internal error occurred:";
    assert.equal(
      await problem("n", add("/bogus", "1")),
      `${internal} strict decoding error: unknown field "bogus"`,
    );
    assert.equal(
      await problem("o", add("/kind", "'Pod'")),
      `${internal} failed to convert object: converting (v1.Pod) to (core.ConfigMap): unknown conversion`,
    );
    assert.equal(
      await problem("p", add("/data", "{1: 'a'}")),
      "JSONPath valueExpression evaluated to a type that could not marshal to JSON: " +
        "unsupported type conversion from 'int' to string",
    );
    assert.equal(await problem("q", patched("[JSONPatch{}]")), "JSON Patch: Unexpected kind: ");
  });
});
