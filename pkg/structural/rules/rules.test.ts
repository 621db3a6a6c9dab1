import assert from "node:assert/strict";
import { atOnce } from "#base";
import { problemText } from "#meta";
import { checkObject, CompiledSchema, type JsonSchema, type ValidationRule } from "../index.ts";

const text: JsonSchema = { type: "string" };
const whole = (spec: unknown) => ({ apiVersion: "a/v1", kind: "A", metadata: { name: "n" }, spec });
const field = (schema: JsonSchema): JsonSchema => ({
  type: "object",
  properties: { spec: schema },
});

function outcome(schema: JsonSchema, now: unknown, old?: unknown) {
  const options = old === undefined ? {} : { old: whole(old) };
  const { problems, warnings } = atOnce(
    checkObject(whole(now), new CompiledSchema(schema), options),
  );
  const told = problems.list.map((each) => `${each.field || "<nil>"}: ${problemText(each)}`);
  return { told, warnings };
}

const told = (schema: JsonSchema, now: unknown, old?: unknown) => outcome(schema, now, old).told;
const rules = (...all: readonly ValidationRule[]) => ({ "x-kubernetes-validations": all });

describe("rules of a structural schema", () => {
  const both: JsonSchema = { type: "object", properties: { a: text, b: text } };

  it("report message, messageExpression or the rule", () => {
    const rule = "self.a == self.b";
    const value = { a: "1", b: "2" };
    const of = (rest: Omit<ValidationRule, "rule">) =>
      told(field({ ...both, ...rules({ rule, ...rest }) }), value);
    assert.deepEqual(of({}), [`spec: Invalid value: "object": failed rule: ${rule}`]);
    assert.deepEqual(of({ message: "differ" }), ['spec: Invalid value: "object": differ']);
    assert.deepEqual(of({ messageExpression: "'a is ' + self.a", message: "differ" }), [
      'spec: Invalid value: "object": a is 1',
    ]);
    assert.deepEqual(of({ messageExpression: "[self.a][1]", message: "differ" }), [
      'spec: Invalid value: "object": differ',
    ]);
    assert.deepEqual(of({ message: "m", fieldPath: ".b", reason: "FieldValueForbidden" }), [
      "spec.b: Forbidden: m",
    ]);
  });

  it("at the root can access metadata.name, and report no field path", () => {
    const schema = { ...field(both), ...rules({ rule: "self.metadata.name == 'x'" }) };
    assert.deepEqual(told(schema, {}), [
      "<nil>: Invalid value: \"object\": failed rule: self.metadata.name == 'x'",
    ]);
  });

  it("with oldSelf run on updates only, unless it is optional", () => {
    const fixed = field({ ...text, ...rules({ rule: "self == oldSelf", message: "fixed" }) });
    assert.deepEqual(told(fixed, "a"), []);
    assert.deepEqual(told(fixed, "a", "b"), ['spec: Invalid value: "string": fixed']);
    const rule = "oldSelf.hasValue() || self == 'new'";
    const optional = field({ ...text, ...rules({ rule, optionalOldSelf: true, message: "m" }) });
    assert.deepEqual(told(optional, "a"), ['spec: Invalid value: "string": m']);
    assert.deepEqual(told(optional, "b", "a"), []);
  });

  it("correlate items of lists of type map by key", () => {
    const item: JsonSchema = {
      type: "object",
      properties: { k: text, v: { type: "integer", ...rules({ rule: "self >= oldSelf" }) } },
    };
    const map: JsonSchema = {
      type: "array",
      items: item,
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["k"],
    };
    const now = [
      { k: "new", v: 0 },
      { k: "a", v: 1 },
    ];
    assert.deepEqual(told(field(map), now, [{ k: "a", v: 2 }]), [
      'spec[1].v: Invalid value: "integer": failed rule: self >= oldSelf',
    ]);
  });

  it("yield warnings for unchanged values", () => {
    const part = { ...both, ...rules({ rule: "self.a == self.b", message: "differ" }) };
    const schema = field({ type: "object", properties: { part, other: text } });
    const kept = { part: { a: "1", b: "2" } };
    assert.deepEqual(outcome(schema, { ...kept, other: "x" }, kept), {
      told: [],
      warnings: ['spec.part: Invalid value: "object": differ'],
    });
    assert.equal(told(schema, { part: { a: "1", b: "3" } }, kept).length, 1);
  });

  it("yield errors for values that have fields without a schema, even if unchanged", () => {
    const rule = rules({ rule: "self.a == self.b", message: "differ" });
    const schema = field({ ...both, ...rule, "x-kubernetes-preserve-unknown-fields": true });
    const specified = { a: "1", b: "2" };
    assert.deepEqual(told(schema, specified, specified), []);
    const more = { ...specified, unknown: 1 };
    assert.deepEqual(told(schema, more, more), ['spec: Invalid value: "object": differ']);
    // The fields of metadata have no schema, so that a resource is never unchanged.
    const root = { ...field(both), ...rules({ rule: "self.spec.a == self.spec.b", message: "m" }) };
    assert.deepEqual(told(root, specified, specified), ['<nil>: Invalid value: "object": m']);
  });

  it("are not evaluated on values of the wrong type", () => {
    const schema = field({ ...text, ...rules({ rule: "self == 'a'" }) });
    assert.match(told(schema, 5)[1] ?? "", /^<nil>: Invalid value: null: some validation rules/);
  });

  it("stop when the cost budget is exhausted", () => {
    const list: JsonSchema = { type: "array", items: { type: "integer" } };
    const quadratic = rules({ rule: "self.all(x, self.all(y, x + y >= 0))" }, { rule: "false" });
    const many = Array.from({ length: 2_000 }, (_, index) => index);
    assert.deepEqual(told(field({ ...list, ...quadratic }), many), [
      "spec: Invalid value: \"array\": 'operation cancelled: actual cost limit exceeded': no " +
        "further validation rules will be run due to call cost exceeds limit for rule: " +
        "self.all(x, self.all(y, x + y >= 0))",
    ]);
    const each: JsonSchema = { type: "integer", ...rules({ rule: "[self, 2, 3].all(x, x < 4)" }) };
    const tooMany = Array.from({ length: 400_000 }, () => 1);
    assert.match(
      told(field({ type: "array", items: each }), tooMany).join(),
      /running out of cost budget, no further validation rules will be run$/,
    );
  });
});
