import assert from "node:assert/strict";
import { objectMeta } from "#meta";
import { OpaqueJson } from "#base";
import { int32, list, map, pointer, string as text, structs, value } from "#schema";
import { AccessEvaluator } from "./access-evaluator.ts";
import { Environment } from "./environment.ts";
import { escapeProperty, unescapeProperty } from "./syntax/escape.ts";
import { authorizerType, authorizerValue } from "./library/kubernetes/authorization.ts";
import { jsonPatchType } from "./library/kubernetes/json-patches.ts";
import { adapt } from "./value/json-values.ts";
import { costLimits } from "./cost/limits.ts";
import { plainJson } from "./value/plain-json.ts";
import { compile, type Program } from "./program.ts";
import { type StructuralSchema, structuralType } from "./check/structural.ts";
import { kindType, structType } from "./check/struct-types.ts";
import { type CelType, dyn, formatType, optionalOf, typeText } from "./check/types.ts";
import { OptionalValue, type Value } from "./value/values.ts";

const base = Environment.kubernetes({ variables: { self: dyn } });

function program(source: string, type: CelType = dyn): Program {
  const variables = { self: type, oldSelf: type, authorizer: authorizerType };
  const made = compile(source, base.extend({ variables }));
  assert(made.program !== undefined, made.error);
  return made.program;
}

function structural(schema: StructuralSchema, isRoot = false): CelType {
  const type = structuralType(schema, isRoot);
  assert(type !== undefined);
  return type;
}

function evaluated(source: string, self: unknown, type: CelType = dyn): Value | string {
  const outcome = program(source, type).evaluate({ self, oldSelf: self });
  return outcome.error === undefined ? outcome.value : `error: ${outcome.error}`;
}

const integer: StructuralSchema = { type: "integer" };

describe("cel: evaluation", () => {
  it("computes int64 exactly and fails on overflow", () => {
    assert.equal(evaluated("self + 1", 2n ** 63n - 2n), 2n ** 63n - 1n);
    assert.equal(evaluated("self + 1", 2n ** 63n - 1n), "error: integer overflow");
    assert.equal(evaluated("self * 3 == 27021597764222973", 9007199254740991), true);
    assert.equal(evaluated("-7 / 2 == -3 && -7 % 2 == -1", 0), true);
    assert.equal(evaluated("10 / self > 0", 0), "error: division by zero");
    assert.equal(evaluated("-9223372036854775808 / -1 == 0", 0), "error: integer overflow");
  });

  it("reports missing keys and fields", () => {
    assert.equal(evaluated("self['must'] > 0", {}), "error: no such key: must");
    assert.equal(evaluated("self.a.b", { a: {} }), "error: no such key: b");
    assert.equal(evaluated("self[3]", [1]), "error: index out of bounds: 3");
    assert.equal(evaluated("self.a || true", { a: 1 }), true);
    assert.equal(evaluated("self.b > 1 || true", {}), true);
    assert.equal(evaluated("self.all(x, x > 1)", ["a", 1]), false);
    assert.equal(evaluated("self.all(x, x > 1)", ["a", 2]), "error: no such overload");
  });

  it("accesses JSON of unspecified structure", () => {
    const self = { fields: OpaqueJson.printed('{"f:data":{}}') };
    assert.equal(evaluated("self.fields == {'f:data': {}} && 'f:data' in self.fields", self), true);
  });

  it("has cel-go's error messages", () => {
    for (const [source, error] of [
      ["self.t + 1", "no such overload: _+_(bool, int)"],
      ["self.n > 1", "no such overload: _>_(null_type, int)"],
      ["self.i + 'a'", "no such overload"],
      ["self.i.startsWith('a')", "no such overload: startsWith(int, string)"],
      ["size(self.i)", "no such overload: size"],
      ["self.i.x", "no such key: x"],
      ["self.l['x']", "unsupported index type 'string' in list"],
      ["int(self.s)", "type conversion error from 'string' to 'int'"],
      ["duration(self.s)", "type conversion error from 'string' to 'google.protobuf.Duration'"],
      ["'a'.matches(self.p)", "error parsing regexp: missing closing ]: `[`"],
      ["{self.s: 1, self.s: 2}", "Failed with repeated key"],
      ["self.s.substring(9)", "index out of range: 9"],
      ["self.l.max() + self.l[1]", "index out of bounds: 1"],
      ["5 % (self.i - 1)", "modulus by zero"],
    ] as const) {
      const self = { t: true, n: null, i: 1, s: "abc", l: [1], p: "[" };
      assert.equal(evaluated(source, self), `error: ${error}`, source);
    }
  });

  it("accesses own properties only, with any name", () => {
    assert.equal(evaluated("has(self.constructor)", {}), false);
    assert.equal(evaluated("has(self.__proto__)", {}), false);
    assert.equal(evaluated("self.__proto__ == 1", JSON.parse('{"__proto__":1}')), true);
    assert.equal(evaluated("'toString' in self", {}), false);
  });

  it("compares and concatenates lists of type set and map", () => {
    const set = structural({ type: "array", items: integer, "x-kubernetes-list-type": "set" });
    assert.equal(evaluated("self == [3, 1]", [1, 3], set), true);
    assert.equal(evaluated("[3, 1] == self", [1, 3], set), true);
    assert.equal(evaluated("(self + [1, 2]).size()", [1, 3], set), 3);
    const keyed = structural({
      type: "array",
      items: { type: "object", properties: { k: { type: "string" }, v: integer } },
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["k"],
    });
    const variables = { self: keyed, oldSelf: keyed };
    const made = compile(
      "self != oldSelf && (self + oldSelf).size() == 3",
      base.extend({ variables }),
    );
    const a = { k: "a", v: 1 };
    const b = { k: "b", v: 2 };
    const run = (self: unknown, oldSelf: unknown, source: string): unknown =>
      compile(source, base.extend({ variables })).program?.evaluate({ self, oldSelf }).value;
    assert.equal(made.error, undefined);
    assert.equal(run([a, b], [b, a], "self == oldSelf"), true);
    assert.equal(run([a, b], [b, { k: "a", v: 9 }], "self == oldSelf"), false);
    assert.equal(run([a, b], [{ k: "a", v: 9 }], "(self + oldSelf)[0].v == 9"), true);
    assert.equal(run([a, b], [{ k: "a", v: 9 }], "(self + oldSelf).size() == 2"), true);
  });

  it("converts strings by their OpenAPI format", () => {
    const type = structural({
      type: "object",
      properties: {
        t: { type: "string", format: "date-time" },
        d: { type: "string", format: "duration" },
        b: { type: "string", format: "byte" },
        n: { type: "number" },
        p: { "x-kubernetes-int-or-string": true },
      },
    });
    const self = { t: "2024-01-01T00:00:00Z", d: "90s", b: "aGk=", n: 2, p: "10%" };
    assert.equal(
      evaluated("self.t + self.d > timestamp('2024-01-01T00:01:00Z')", self, type),
      true,
    );
    assert.equal(evaluated("self.b == b'hi' && self.n / 4.0 == 0.5", self, type), true);
    assert.equal(
      evaluated("type(self.p) == int ? self.p > 0 : self.p.endsWith('%')", self, type),
      true,
    );
  });

  it("parses times in the formats of schemas", () => {
    const moment = structural({ type: "string", format: "date" });
    for (const [text, same] of [
      ["2024-02-29", "2024-02-29T00:00:00Z"],
      ["2024-02-29t10:00:00.5z", "2024-02-29T10:00:00.5Z"],
      ["2024-02-29T10:00:00+0100", "2024-02-29T09:00:00Z"],
    ]) {
      assert.equal(evaluated(`self == timestamp('${same}')`, text, moment), true, text);
    }
    assert.equal(evaluated("self == self", "2024-02-30", moment), "error: invalid timestamp");
    const span = structural({ type: "string", format: "duration" });
    for (const [text, same] of [
      ["2 days", "48h"],
      ["1w", "168h"],
      ["3 minutes", "3m"],
      ["1h30m", "90m"],
    ]) {
      assert.equal(evaluated(`self == duration('${same}')`, text, span), true, text);
    }
  });

  it("accepts optional values as data", () => {
    const type = structural({ type: "object", properties: { a: integer } });
    const variables = { self: type, oldSelf: optionalOf(type) };
    const source = "!oldSelf.hasValue() || self.a == oldSelf.value().a";
    const { program: made } = compile(source, base.extend({ variables }));
    const run = (oldSelf: OptionalValue): unknown =>
      made?.evaluate({ self: { a: 1 }, oldSelf }).value;
    assert.equal(run(OptionalValue.none), true);
    assert.equal(run(new OptionalValue(adapt({ a: 2 }, type))), false);
  });

  it("escapes the names of properties", () => {
    for (const [name, escaped] of [
      ["a-b", "a__dash__b"],
      ["c.d", "c__dot__d"],
      ["e/f", "e__slash__f"],
      ["x__y", "x__underscores__y"],
      ["namespace", "__namespace__"],
      ["__dot__", "__underscores__dot__underscores__"],
      ["plain", "plain"],
    ] as const) {
      assert.equal(escapeProperty(name), escaped);
      assert.equal(unescapeProperty(escaped), name);
    }
    assert.equal(escapeProperty("1a"), undefined);
    assert.equal(unescapeProperty("namespace"), "namespace");
    const type = structural({ type: "object", properties: { "a-b": integer, if: integer } });
    assert.equal(
      evaluated("self.a__dash__b == 1 && self.__if__ == 2", { "a-b": 1, if: 2 }, type),
      true,
    );
  });

  it("declares the fields that every resource root has", () => {
    const root = structural({ type: "object" }, true);
    const self = { kind: "Rule", apiVersion: "g/v1", metadata: { name: "n", labels: {} } };
    assert.equal(evaluated("self.kind == 'Rule' && self.metadata.name == 'n'", self, root), true);
    const made = compile("self.metadata.labels", base.extend({ variables: { self: root } }));
    assert.match(made.error ?? "", /undefined field 'labels'/);
  });

  it("derives types of built-in kinds from their structs", () => {
    const inner = structs("api/test/v1")("Inner", "A part.", {
      count: value(1, int32, "How many."),
      names: pointer(2, list(text), "Names.", { listType: "set" }),
      labels: pointer(3, map(text), "Labels."),
    });
    const outer = structs("api/test/v1")("Outer", "A whole.", {
      metadata: value(1, objectMeta, "Metadata."),
      spec: value(2, inner, "The part."),
    });
    const type = kindType(outer);
    const self = {
      kind: "Outer",
      metadata: { name: "n", creationTimestamp: "2024-01-01T00:00:00Z" },
      spec: { count: 2, names: ["b", "a"], labels: { x: "y" } },
    };
    const source =
      "self.kind == 'Outer' && self.spec.count == 2 && self.spec.names == ['a', 'b'] && " +
      "self.spec.labels.x == 'y' && " +
      "self.metadata.creationTimestamp < timestamp('2025-01-01T00:00:00Z')";
    assert.equal(evaluated(source, self, type), true);
    assert.equal(structType(inner), structType(inner));
    assert.match(
      compile("self.spec.nope", base.extend({ variables: { self: type } })).error ?? "",
      /undefined field 'nope'/,
    );
  });

  it("returns the type of a program's result", () => {
    assert.equal(typeText(program("self.a").type), "dyn");
    assert.equal(typeText(program("[null, null]").type), "list(null_type)");
    assert.equal(
      formatType(program("{'a': timestamp('2024-01-01T00:00:00Z')}").type),
      "map(string, timestamp)",
    );
  });

  it("converts results to JSON", () => {
    const json = (source: string, self: unknown = {}): unknown =>
      plainJson(evaluated(source, self));
    assert.deepEqual(json("[dyn(1), dyn(2.5), dyn(b'hi'), dyn(duration('90s'))]"), [
      1,
      2.5,
      "aGk=",
      "1m30s",
    ]);
    assert.equal(JSON.stringify(json("{'a': self}", { b: [1] })), '{"a":{"b":[1]}}');
    const patches = base.extend({ variables: {}, openType: "Object" });
    const { program: made } = compile(
      "JSONPatch{op: 'add', path: '/x', value: {'__proto__': 1}}",
      patches,
    );
    const patch = plainJson(made?.evaluate({}).value ?? null);
    assert.equal(JSON.stringify(patch), '{"op":"add","path":"/x","value":{"__proto__":1}}');
    assert.equal(jsonPatchType.name, "JSONPatch");
    const { program: escape } = compile("jsonpatch.escapeKey('a/b~') == 'a~1b~0'", patches);
    assert.equal(escape?.evaluate({}).value, true);
  });

  it("checks JSON patches at run time", () => {
    const patches = base.extend({ variables: {}, openType: "Object" });
    const fault = (text: string) => compile(text, patches).program?.evaluate({}).error;
    const wrong = "for JSONPatchType 'op' field";
    assert.equal(fault("JSONPatch{op: dyn(1)}"), `unexpected type int64 ${wrong}`);
    assert.equal(fault("JSONPatch{op: dyn([1])}"), `unexpected type []ref.Val ${wrong}`);
    assert.equal(fault("JSONPatch{what: dyn(1)}"), "unexpected JSONPatchType field: what");
    const json = (text: string) =>
      plainJson(compile(text, patches).program?.evaluate({}).value ?? null);
    assert.throws(() => json("{1: 'a'}"), {
      message: "unsupported type conversion from 'int' to string",
    });
    assert.throws(() => json("{'a': double('NaN')}"), {
      message:
        "json: error calling MarshalJSON for type *structpb.Value: " +
        "proto: google.protobuf.Value.number_value: invalid NaN value",
    });
  });

  it("constructs objects of open types", () => {
    const open = base.extend({ variables: { self: dyn }, openType: "Object" });
    const source = "Object{spec: Object.spec{replicas: self.n + 1, a__dash__b: [Object.spec.x{}]}}";
    const { program: made, error } = compile(source, open);
    assert(made !== undefined, error);
    assert.equal(made.type.name, "Object");
    const { value: object } = made.evaluate({ self: { n: 1 } });
    assert.equal(JSON.stringify(plainJson(object ?? null)), '{"spec":{"replicas":2,"a-b":[{}]}}');
    assert.match(compile("Other{}", open).error ?? "", /undeclared reference to 'Other'/);
  });

  it("awaits an asynchronous authorizer, once per check", async () => {
    const asked: string[] = [];
    const inquiry = new AccessEvaluator(async ({ path = "" }) => {
      asked.push(path);
      return { allowed: path === "/b", reason: "" };
    });
    const outcome = await inquiry.evaluate(
      program(
        "authorizer.path('/a').check('get').allowed() || " +
          "authorizer.path('/b').check('get').allowed()",
      ),
      { authorizer: authorizerValue(inquiry.authorizer) },
      costLimits.object,
    );
    assert.equal(outcome.value, true);
    assert.deepEqual(asked, ["/a", "/b"]);
    assert(outcome.cost > 700_000);
  });
});

describe("cel: costs", () => {
  it("estimates from declared sizes", () => {
    const texts = structural({ type: "array", items: { type: "string" } });
    // Six units for each of the 1,048,575 texts that fit into a request, and two around them.
    assert.equal(program("self.all(x, x.size() > 0)", texts).estimatedCost.max, 6_291_452);
    const thousand = structural({ type: "array", items: integer, maxItems: 1_000 });
    const nested = program("self.all(x, self.all(y, x + y >= 0))", thousand);
    assert.equal(nested.estimatedCost.max, 7_005_002);
    assert(nested.estimatedCost.max < costLimits.estimatedRule);
    const short = structural({ type: "string", maxLength: 10 });
    assert.equal(program("self == 'a'", short).estimatedCost.max, 2);
    assert.equal(program("self.startsWith('a')", short).estimatedCost.max, 2);
  });

  it("is unbounded without declared sizes", () => {
    const type = structural({ type: "object", properties: { a: integer } });
    assert.equal(program("'a is ' + string(self.a)", type).estimatedCost.max, Infinity);
  });

  it("sizes the elements of a conditional like self, as Kubernetes does", () => {
    const texts = { type: "array", items: { type: "string" }, maxItems: 256 };
    const type = structural({ type: "object", properties: { texts } });
    const chosen = "(has(self.texts) ? self.texts : []).exists(k, k.contains('/'))";
    assert(program(chosen, type).estimatedCost.max < 5_000);
    assert(program("self.texts.exists(k, k.contains('/'))", type).estimatedCost.max > 10_000_000);
  });

  it("aborts an evaluation over budget, even within operators that absorb errors", () => {
    const self = new Array<number>(600).fill(1);
    const source = "self.all(x, self.all(y, x + y >= 0)) || true";
    const outcome = program(source).evaluate({ self }, costLimits.call);
    assert.equal(outcome.error, "operation cancelled: actual cost limit exceeded");
    assert.equal(outcome.exceeded, true);
  });

  it("has actual costs within the estimate", () => {
    const type = structural({
      type: "object",
      properties: {
        s: { type: "string", maxLength: 20 },
        l: { type: "array", items: { type: "string", maxLength: 5 }, maxItems: 5 },
        m: { type: "object", additionalProperties: integer, maxProperties: 5 },
      },
    });
    const self = {
      s: "\u00e9".repeat(20),
      l: ["aaaaa", "bbbbb", "ccccc", "ddddd", "eeeee"],
      m: { a: 1, b: 2, c: 3 },
    };
    for (const source of [
      "self.s.matches('^a+b') || self.s.contains('ab') || self.s == 'x'",
      "self.l.map(x, x + x).join(',') != ''",
      "self.l.exists_one(x, x == 'aaaaa') && self.l.filter(x, x.size() > 1).size() == 5",
      "self.m.all(k, self.m[k] > 0) && 'a' in self.m && 'aaaaa' in self.l",
      "self.l.isSorted() && self.l.indexOf('b') == -1 && self.s.replace('a', 'bb').size() > 0",
      "optional.of(self.l).optMap(x, x.size() + x.size()).value() == 10 && self.s.split('').size() == 20",
    ]) {
      const made = program(source, type);
      const outcome = made.evaluate({ self });
      assert.equal(outcome.error, undefined, source);
      assert(outcome.cost <= made.estimatedCost.max, `${source}: ${outcome.cost}`);
      assert(outcome.cost >= made.estimatedCost.min, `${source}: ${outcome.cost}`);
    }
  });
});
