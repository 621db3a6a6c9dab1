/** Tables by class: what compiles, what it gives and what it costs, as in Kubernetes 1.34. */
import assert from "node:assert/strict";
import { structuralType } from "./check/structural.ts";
import { dyn } from "./check/types.ts";
import { Environment } from "./environment.ts";
import { compile } from "./program.ts";

const self = structuralType({ type: "string", maxLength: 50 }) ?? dyn;
const environment = Environment.kubernetes({ variables: { self, any: dyn } });

function verdict(text: string): string {
  const { program, reason } = compile(text, environment);
  return program === undefined ? (reason.split("\n")[0] ?? "") : "compiles";
}

function value(text: string, given = ""): unknown {
  const { program, error } = compile(`string(${text})`, environment);
  assert(program !== undefined, `${text}: ${error}`);
  const outcome = program.evaluate({ self: given, any: given });
  return outcome.error ?? outcome.value;
}

/** Constructors of every type, for tables of expressions x values. */
const library = [
  "ip(self)",
  "cidr(self)",
  "quantity(self)",
  "semver(self)",
  "url(self)",
  "format.uuid()",
];

describe("cel: classes", () => {
  it("estimates constant cost for comparing opaque values", () => {
    for (const each of library) {
      const { program, error } = compile(`${each} == ${each}`, environment);
      assert(program !== undefined, error);
      assert(program.estimatedCost.max < 100, each);
      const other = compile(`optional.of(${each}) == optional.of(${each})`, environment);
      assert.equal(other.program?.estimatedCost.max, Infinity, each);
    }
  });

  it("fails to compare opaque values with other types, in one direction", () => {
    const texts = ["::1", "10.0.0.0/8", "1", "1.2.3", "/a", ""];
    for (const [index, each] of library.entries()) {
      const given = texts[index] ?? "";
      assert.equal(value(`dyn(${each}) == dyn(5)`, given), "no such overload", each);
      assert.equal(value(`dyn(5) == dyn(${each})`, given), "false", each);
      assert.equal(value(`dyn(${each}) != dyn(5)`, given), "true", each);
    }
  });

  it("rejects conversions of constants that always fail", () => {
    for (const type of ["int", "uint", "double", "bool"]) {
      const why = `type conversion error from 'string' to '${type}'`;
      assert.equal(verdict(`${type}('x') == ${type}('x')`), `program instantiation failed: ${why}`);
      assert.equal(value(`${type}(self)`, "x"), why);
    }
    for (const call of ["find", "findAll"]) {
      assert.match(
        verdict(`self.${call}('(') == any`),
        /^program instantiation failed: error pars/,
      );
      assert.match(String(value(`self.${call}(any) == any`, "(")), /^Illegal regex: error parsing/);
    }
  });

  it("accepts exactly the printable types for every clause of format", () => {
    const constants = { int: "1", uint: "1u", double: "1.5", string: "'a'", bool: "true" };
    const takes: Readonly<Record<string, string>> = {
      s: "int uint double string bool",
      d: "int uint",
      f: "double string",
      e: "double string",
      b: "int uint bool",
      o: "int uint",
      x: "int uint string",
      X: "int uint string",
    };
    for (const [verb, types] of Object.entries(takes)) {
      for (const [type, constant] of Object.entries(constants)) {
        const found = verdict(`'%${verb}'.format([${constant}])`);
        const isTaken = types.split(" ").includes(type);
        const wanted = isTaken ? /^compiles$/ : new RegExp(`during formatting.*given ${type}$`);
        assert.match(found, wanted, `%${verb} ${type}`);
      }
    }
  });

  it("formats numbers and collections as Go does", () => {
    for (const [text, shown] of [
      ["'%f'.format([1234567.5])", "1,234,567.500000"],
      ["'%.2f'.format([-0.125])", "-0.12"],
      ["'%e'.format([0.00012345])", "1.234500×10⁻⁰⁴"],
      ["'%s'.format([['a', 1.5, {'b': b'c'}]])", '["a", 1.500000, {"b":b"c"}]'],
      ["1e5", "100000"],
      ["1e6", "1e+06"],
      ["1e-5", "1e-05"],
      ["timestamp('2024-01-02T03:04:05.5+02:00')", "2024-01-02T03:04:05.5+02:00"],
      ["duration('1ns')", "0.000000001s"],
    ] as const) {
      assert.equal(value(text), shown, text);
    }
  });

  it("has the error messages of Go's parsers", () => {
    const ip = 'IP Address "$" parse error during conversion from string: ParseAddr("$"): ';
    const url = 'URL parse error during conversion from string: parse "$": ';
    for (const [call, text, words] of [
      ["string(ip(self))", "8.8.8", `${ip}IPv4 address too short`],
      ["string(ip(self))", "1.2.3.400", `${ip}IPv4 field has value >255`],
      ["string(ip(self))", "1::2::3", `${ip}multiple :: in address (at ":3")`],
      ["semver(self).major()", "1.2", "No Major.Minor.Patch elements found"],
      ["semver(self).major()", "01.2.3", 'Major number must not contain leading zeroes "01"'],
      ["url(self).getHost()", "::x", `${url}missing protocol scheme`],
      ["url(self).getHost()", "a", `${url}invalid URI for request`],
      ["url(self).getHost()", "http://a:x/", `${url}invalid port ":x" after host`],
    ] as const) {
      assert.equal(value(call, text), words.replaceAll("$", text), `${call} ${text}`);
    }
  });

  it("rejects features of later releases, and literals of mixed types outside of format", () => {
    for (const [text, words] of [
      ["cel.bind(x, 1, x == 1)", "undeclared reference to 'cel' (in container '')"],
      ["any.`a` == 1", "unsupported syntax: '`'"],
      ["quantity('1').sign() == 1", "found no matching overload for 'sign'"],
      ["[any, 'a'].size() == 2", "expected type 'dyn' but found 'string'"],
      ["{'a': any, 'b': 1}.size() == 2", "expected type 'dyn' but found 'int'"],
      ["1 && true", "expected type 'bool' but found 'int'"],
    ] as const) {
      assert(verdict(text).includes(words), `${text}: ${verdict(text)}`);
    }
    assert.equal(verdict("'%s %d'.format(['a', 1]) == self"), "compiles");
    assert.equal(verdict("sign(quantity('1')) == 1 && [1].first() == [1].last()"), "compiles");
  });
});
