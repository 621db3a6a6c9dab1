import assert from "node:assert/strict";
import { Writable } from "node:stream";
import type { RunningServer } from "../../../cmd/keelson/index.ts";
import { type Answer, configMap, configMaps, eventually, send, startForTests } from "./testing.ts";

const group = "/apis/admissionregistration.k8s.io/v1";
const apiVersion = "admissionregistration.k8s.io/v1";
const ofConfigMaps = {
  resourceRules: [
    { operations: ["*"], apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"] },
  ],
};

interface Named {
  readonly metadata: { readonly name: string };
  readonly [field: string]: unknown;
}

describe("validating admission policies", () => {
  let server: RunningServer;
  before(async () => {
    server = await startForTests();
  });
  after(() => server.close());
  const configured: string[] = [];
  afterEach(async () => {
    for (const url of configured.splice(0)) await send(server, "DELETE", url);
  });

  async function make(plural: string, object: Named) {
    const { status, body } = await send(server, "POST", `${group}/${plural}`, object);
    assert.equal(status, 201, body.message);
    configured.push(`${group}/${plural}/${object.metadata.name}`);
  }

  /** Creates a policy for ConfigMaps and its binding `<name>-binding`; waits until both are in effect. */
  async function policy(name: string, spec: object, binding: object = {}) {
    const sentinel = `object == null || object.metadata.name != 'sentinel-${name}'`;
    const { validations = [], ...rest } = spec as { validations?: object[] };
    await make("validatingadmissionpolicies", {
      apiVersion,
      kind: "ValidatingAdmissionPolicy",
      metadata: { name },
      spec: { matchConstraints: ofConfigMaps, validations, ...rest },
    });
    await make("validatingadmissionpolicybindings", {
      apiVersion,
      kind: "ValidatingAdmissionPolicyBinding",
      metadata: { name: `${name}-binding` },
      spec: { policyName: name, validationActions: ["Deny"], ...binding },
    });
    // Watches deliver in order: when the policy created last is in effect, those before it are, too.
    const probe = `probe-${name}`;
    await make("validatingadmissionpolicies", {
      apiVersion,
      kind: "ValidatingAdmissionPolicy",
      metadata: { name: probe },
      spec: { matchConstraints: ofConfigMaps, validations: [{ expression: sentinel }] },
    });
    await make("validatingadmissionpolicybindings", {
      apiVersion,
      kind: "ValidatingAdmissionPolicyBinding",
      metadata: { name: probe },
      spec: { policyName: probe, validationActions: ["Deny"] },
    });
    const ask = () => create(`sentinel-${name}`, {}, "?dryRun=All");
    await eventually(ask, ({ status }) => status === 422 || status === 500);
  }

  function create(name: string, more: object = {}, query = ""): Promise<Answer> {
    return send(server, "POST", `${configMaps}${query}`, configMap(name, more));
  }

  it("denies with the message, reason and code of the first validation that fails", async () => {
    await policy("p1", {
      variables: [
        { name: "size", expression: "has(object.data) ? size(object.data) : 0" },
        { name: "never", expression: "object.no.such.thing" },
      ],
      validations: [
        {
          expression: "variables.size <= 1",
          messageExpression: "'too many: ' + string(variables.size)",
          reason: "Forbidden",
        },
        { expression: "object.metadata.name != 'bad'", message: "bad name" },
        { expression: "object.metadata.name !=\n'worse' ", message: "worse" },
      ],
    });
    const { status, body } = await create("a", { data: { a: "1", b: "2" } });
    const denied = "ValidatingAdmissionPolicy 'p1' with binding 'p1-binding' denied request";
    const message = `configmaps "a" is forbidden: ${denied}: too many: 2`;
    assert.equal(status, 403);
    assert.deepEqual(body, {
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message,
      reason: "Forbidden",
      details: { name: "a", kind: "configmaps", causes: [{ message: `${denied}: too many: 2` }] },
      code: 403,
    });
    const bad = await create("bad");
    assert.equal(bad.status, 422);
    assert.equal(bad.body.reason, "Invalid");
    assert.equal(bad.body.message, `configmaps "bad" is forbidden: ${denied}: bad name`);
    assert.equal((await create("good")).status, 201);
    assert.equal((await send(server, "DELETE", `${configMaps}/good`)).status, 422);
  });

  it("rejects on expression errors, or ignores them with failurePolicy Ignore", async () => {
    const validations = [{ expression: "object.data.x == 'y'" }];
    const condition = { name: "named", expression: "object.metadata.name.startsWith('err')" };
    const spec = { validations, matchConditions: [condition] };
    await policy("p2", spec);
    const { status, body } = await create("err-1");
    assert.equal(status, 422);
    assert.match(
      body.message,
      /denied request: expression 'object.data.x == 'y'' resulted in error: no such key: data$/,
    );
    assert.equal((await create("other")).status, 201);
    await policy("p3", { ...spec, failurePolicy: "Ignore" });
    for (const url of configured.splice(0, 2)) await send(server, "DELETE", url);
    const passes = await eventually(
      () => create("err-2"),
      (answer) => answer.status === 201,
    );
    assert.equal(passes.status, 201);
    const metrics = await (await server.fetch("/metrics")).text();
    const counted = (policy: string, what: string): void => {
      const name = "apiserver_validating_admission_policy_check_total";
      const series = `${name}{policy="${policy}",policy_binding="${policy}-binding",${what}}`;
      assert.ok(metrics.includes(series), series);
    };
    counted("p1", 'error_type="no_error",enforcement_action="deny"');
    counted("p2", 'error_type="invalid_error",enforcement_action="deny"');
    counted("p3", 'error_type="invalid_error",enforcement_action="allow"');
  });

  it("evaluates once per parameter, and reports missing parameters", async () => {
    const paramKind = { apiVersion: "v1", kind: "ConfigMap" };
    const spec = {
      paramKind,
      matchConditions: [{ name: "p", expression: "!object.metadata.name.startsWith('param')" }],
      validations: [{ expression: "object.metadata.name != params.data.forbidden" }],
    };
    const labels = { role: "param" };
    const paramRef = { selector: { matchLabels: labels }, parameterNotFoundAction: "Deny" };
    for (const forbidden of ["one", "two"]) {
      const metadata = { name: `param-${forbidden}`, labels };
      const { status, body } = await create("", { metadata, data: { forbidden } });
      assert.equal(status, 201, body.message);
    }
    await policy("p4", spec, { paramRef });
    assert.match(
      (await create("two")).body.message,
      /denied request: failed expression: object.metadata.name != params.data.forbidden$/,
    );
    assert.equal((await create("three")).status, 201);
    const nothing = { name: "absent", parameterNotFoundAction: "Deny" };
    await policy("p4-none", spec, { paramRef: nothing });
    assert.match(
      (await create("x")).body.message,
      /'p4-none-binding' denied request: failed to configure binding: no params found for policy /,
    );
    for (const url of configured.splice(-4)) await send(server, "DELETE", url);
    await policy("p5", { ...spec, paramKind: { apiVersion: "example.com/v1", kind: "Rule" } });
    const unknown = await eventually(
      () => create("y"),
      ({ body }) => body.message.includes("'p5'"),
    );
    assert.match(
      unknown.body.message,
      /Policy 'p5' denied .* failed to configure policy: .*: 'example.com\/v1, Kind=Rule'$/,
    );
  });

  it("gives expressions the authorizer, the namespace and the request", async () => {
    await policy("p6", {
      validations: [
        { expression: "authorizer.requestResource.check('create').allowed()" },
        {
          expression:
            "!authorizer.serviceAccount('a', 'b').group('').resource('pods')" +
            ".check('get').allowed()",
        },
        {
          expression: "namespaceObject.metadata.labels['kubernetes.io/metadata.name'] == 'default'",
        },
        {
          expression: "request.resource.resource == 'configmaps' && request.operation == 'CREATE'",
        },
        { expression: "request.options.fieldManager == 'me'", message: "who?" },
      ],
    });
    const { body, status } = await create("asks", {}, "?fieldManager=me");
    assert.equal(status, 201, body.message);
    assert.match((await create("asks-2", {}, "?fieldManager=you")).body.message, /: who\?$/);
  });

  it("warns and audits instead of denying", async () => {
    const lines: string[] = [];
    const to = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        lines.push(...chunk.toString("utf8").split("\n").filter(Boolean));
        done();
      },
    });
    const batch = { bufferSize: 1000, maxSize: 100, maxWaitMs: 60_000 };
    const rotation = { maxBytes: 0, maxAgeDays: 0, maxBackups: 0, compress: false };
    const recording = await startForTests({
      audit: {
        policy: "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n",
        log: { to, format: "json", mode: "blocking", batch, rotation },
      },
    });
    const before = server;
    server = recording;
    try {
      await policy(
        "p7",
        {
          validations: [
            { expression: "false", message: "never <good>" },
            { expression: "false", message: "never either" },
          ],
          auditAnnotations: [{ key: "name", valueExpression: "'is ' + object.metadata.name" }],
        },
        { validationActions: ["Warn", "Audit"] },
      );
      const { status, warnings } = await create("w");
      assert.equal(status, 201);
      const of = "ValidatingAdmissionPolicy 'p7' with binding 'p7-binding'";
      assert.match(warnings, new RegExp(`299 - "Validation failed for ${of}: never <good>"`));
      const deleted = await send(server, "DELETE", `${configMaps}/w`);
      assert.match(deleted.warnings, /never either/);
    } finally {
      configured.length = 0;
      server = before;
      await recording.close();
    }
    const events = lines.map((line) => JSON.parse(line));
    const event = events.find(
      ({ verb, objectRef, responseStatus }) =>
        verb === "create" && objectRef?.name === "w" && responseStatus?.code === 201,
    );
    assert.equal(event.annotations["p7/name"], "is w");
    const recorded = event.annotations["validation.policy.admission.k8s.io/validation_failure"];
    assert.match(recorded, /never \\u003cgood\\u003e/);
    assert.deepEqual(JSON.parse(recorded), [
      {
        message: "never <good>",
        policy: "p7",
        binding: "p7-binding",
        expressionIndex: 0,
        validationActions: ["Warn", "Audit"],
      },
    ]);
  });

  it("limits the cost of expressions", async () => {
    const costly = "[1,2,3,4,5,6,7,8,9,0].all(a, [1,2,3,4,5,6,7,8,9,0].all(b, true))";
    const deep = `[1,2,3,4,5,6,7,8,9,0].all(c, [1,2,3,4,5,6,7,8,9,0].all(d, ${costly}))`;
    const all = Array.from({ length: 400 }, () => ({ expression: `object != null && ${deep}` }));
    await policy("p8", { validations: all });
    const { status, body } = await create("costly");
    assert.equal(status, 422);
    assert.match(body.message, /denied request: validation failed due to running out of cost budg/);
  });

  it("matches by resource names, exclusions and equivalent versions", async () => {
    const rule = ofConfigMaps.resourceRules[0];
    const inDefault = { matchLabels: { "kubernetes.io/metadata.name": "default" } };
    await policy(
      "p9",
      {
        matchConstraints: {
          resourceRules: [{ ...rule, resourceNames: ["listed", "spared", "sentinel-p9"] }],
          excludeResourceRules: [{ ...rule, resourceNames: ["spared"] }],
        },
        validations: [{ expression: "false" }],
      },
      { matchResources: { namespaceSelector: inDefault } },
    );
    assert.equal((await create("listed")).status, 422);
    assert.equal((await create("spared")).status, 201);
    assert.equal((await create("unlisted")).status, 201);
    const elsewhere = "/api/v1/namespaces/kube-system/configmaps";
    assert.equal((await send(server, "POST", elsewhere, configMap("listed"))).status, 201);
  });
});
