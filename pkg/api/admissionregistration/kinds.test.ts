import assert from "node:assert/strict";
import { created, type Sketch, updated } from "../testing.ts";
import { mutatingAdmissionPolicy } from "./policy/mutating-admission-policy.ts";
import { validatingAdmissionPolicy } from "./policy/validating-admission-policy.ts";
import { validatingAdmissionPolicyBinding } from "./policy/validating-admission-policy-binding.ts";
import { validatingWebhookConfiguration } from "./webhook/validating-webhook-configuration.ts";

const rule = { operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["pods"] };
const constraints = { resourceRules: [rule] };

describe("ValidatingWebhookConfiguration", () => {
  const webhook = {
    name: "a.example.com",
    rules: [rule],
    sideEffects: "None",
    admissionReviewVersions: ["v1"],
    clientConfig: { url: "https://example.com/a" },
  };
  const complaints = (...webhooks: readonly Sketch[]) =>
    created(validatingWebhookConfiguration, { webhooks }).complaints;

  it("defaults absent fields of webhooks", () => {
    const { object } = created(validatingWebhookConfiguration, { webhooks: [webhook] });
    const { failurePolicy, matchPolicy, timeoutSeconds, rules } = object.webhooks[0];
    assert.deepEqual([failurePolicy, matchPolicy, timeoutSeconds], ["Fail", "Equivalent", 10]);
    assert.equal(rules[0].scope, "*");
  });

  it("rejects duplicate webhook names", () => {
    assert.deepEqual(complaints(webhook, webhook), [
      'Duplicate webhooks[1].name = "a.example.com"',
    ]);
  });

  it("requires exactly one of url and service", () => {
    const service = { namespace: "n", name: "s" };
    const both = { url: "https://example.com/a", service };
    assert.deepEqual(complaints({ ...webhook, clientConfig: both }), [
      "Required webhooks[0].clientConfig: exactly one of url or service is required",
    ]);
    const plain = { url: "http://example.com/a" };
    assert.deepEqual(complaints({ ...webhook, clientConfig: plain }), [
      'Invalid webhooks[0].clientConfig.url = "http": ' +
        "'https' is the only allowed URL scheme; desired format: https://host[/path]",
    ]);
  });

  it("accepts unsupported review versions only if the old object has them", () => {
    const old = { ...webhook, admissionReviewVersions: ["v1beta2"] };
    const before = created(validatingWebhookConfiguration, { webhooks: [old] });
    assert.equal(before.complaints.length, 1);
    const again = updated(validatingWebhookConfiguration, before, { webhooks: [old] });
    assert.deepEqual(again.complaints, []);
  });
});

describe("ValidatingAdmissionPolicy", () => {
  const spec = { matchConstraints: constraints, validations: [{ expression: "true" }] };

  const configMaps = { apiVersion: "v1", kind: "ConfigMap" };

  it("defaults to failurePolicy Fail and matchPolicy Equivalent", () => {
    const { object, complaints } = created(validatingAdmissionPolicy, { spec });
    assert.deepEqual(complaints, []);
    assert.equal(object.spec.failurePolicy, "Fail");
    assert.equal(object.spec.matchConstraints.matchPolicy, "Equivalent");
    assert.deepEqual(object.spec.matchConstraints.objectSelector, {});
  });

  it("requires validations or audit annotations", () => {
    const { complaints } = created(validatingAdmissionPolicy, {
      spec: { matchConstraints: constraints },
    });
    assert.deepEqual(complaints, [
      "Required spec.validations: validations or auditAnnotations must contain at least one item",
      "Required spec.auditAnnotations: " +
        "validations or auditAnnotations must contain at least one item",
    ]);
  });

  it("compiles expressions with the variables of their position", () => {
    const complaints = (more: Sketch) => {
      const { complaints: found } = created(validatingAdmissionPolicy, {
        spec: { ...spec, ...more },
      });
      return found.map((text) => text.split("\n")[0]);
    };
    const variables = [
      { name: "first", expression: "object.spec.count + 1" },
      { name: "second", expression: "variables.first > 1 ? 'many' : 'few'" },
    ];
    const validations = [{ expression: "variables.second == params.size" }];
    assert.deepEqual(complaints({ variables, validations, paramKind: configMaps }), []);
    assert.deepEqual(complaints({ variables: [...variables].reverse(), paramKind: configMaps }), [
      `Invalid spec.variables[0].expression = "variables.first > 1 ? 'many' : 'few'": ` +
        "compilation failed: ERROR: <input>:1:10: undefined field 'first'",
    ]);
    assert.deepEqual(complaints({ validations: [{ expression: "params.size == 1" }] }), [
      'Invalid spec.validations[0].expression = "params.size == 1": ' +
        "compilation failed: ERROR: <input>:1:1: " +
        "undeclared reference to 'params' (in container '')",
    ]);
    assert.deepEqual(complaints({ auditAnnotations: [{ key: "a", valueExpression: "1" }] }), [
      'Invalid spec.auditAnnotations[0].valueExpression = "1": ' +
        "must evaluate to one of [string null_type] but got int",
    ]);
  });

  it("requires variable names to be CEL identifiers", () => {
    const variables = [
      { name: "a-b", expression: "1" },
      { name: "c", expression: " " },
    ];
    const { complaints } = created(validatingAdmissionPolicy, { spec: { ...spec, variables } });
    assert.match(complaints[0] ?? "", /^Invalid spec\.variables\[0\]\.name = "a-b": /);
    assert.match(complaints[1] ?? "", /^Required spec\.variables\[1\]\.expression/);
  });

  it("declares variables only if there are some, and accepts a repeated name", () => {
    const firstComplaint = (more: Sketch) =>
      created(validatingAdmissionPolicy, { spec: { ...spec, ...more } }).complaints[0];
    const validations = [{ expression: "variables.size > 1" }];
    assert.match(firstComplaint({ validations }) ?? "", /undeclared reference to 'variables'/);
    const variables = [
      { name: "size", expression: "'a'" },
      { name: "size", expression: "1" },
    ];
    assert.equal(firstComplaint({ validations, variables }), undefined);
  });
});

describe("ValidatingAdmissionPolicyBinding", () => {
  it("rejects Warn together with Deny", () => {
    const spec = { policyName: "p", validationActions: ["Deny", "Warn"] };
    assert.deepEqual(created(validatingAdmissionPolicyBinding, { spec }).complaints, [
      'Invalid spec.validationActions = ["Deny","Warn"]: ' +
        "must not contain both Deny and Warn (repeating the same validation failure " +
        "information in the API response and headers serves no purpose)",
    ]);
  });
});

describe("MutatingAdmissionPolicy", () => {
  it("requires the field of its patchType", () => {
    const spec = {
      matchConstraints: constraints,
      reinvocationPolicy: "Never",
      mutations: [
        { patchType: "JSONPatch" },
        { patchType: "Other" },
        {
          patchType: "JSONPatch",
          jsonPatch: { expression: "" },
          applyConfiguration: { expression: "Object{}" },
        },
      ],
    };
    const { complaints } = created(mutatingAdmissionPolicy, { spec });
    assert.match(complaints.join("\n"), /^Required spec\.mutations\[0\]\.jsonPatch/);
    assert.match(complaints.join("\n"), /NotSupported spec\.mutations\[1\]\.patchType = "Other"/);
    assert.match(
      complaints.join("\n"),
      /mutations\[2\]\.jsonPatch\.expression.*\n.*must not be specified when patchType is JSONPatch$/,
    );
  });

  it("checks the result types of apply configurations and JSON patches", () => {
    const apply = (expression: string) => ({
      patchType: "ApplyConfiguration",
      applyConfiguration: { expression },
    });
    const patch = (expression: string) => ({ patchType: "JSONPatch", jsonPatch: { expression } });
    const spec = {
      matchConstraints: constraints,
      reinvocationPolicy: "Never",
      mutations: [
        apply("Object{spec: Object.spec{replicas: 3}}"),
        patch("[JSONPatch{op: 'remove', path: '/spec/' + jsonpatch.escapeKey('a/b')}]"),
        patch("Object{}"),
      ],
    };
    assert.deepEqual(created(mutatingAdmissionPolicy, { spec }).complaints, [
      'Invalid spec.mutations[2].jsonPatch.expression = "Object{}": ' +
        "must evaluate to list(JSONPatch) but got Object",
    ]);
  });
});
