import assert from "node:assert/strict";
import { bool, bounded, dyn, int, listOf, objectOf, optionalOf, string } from "./check/types.ts";
import { type CelType } from "./check/types.ts";
import { Environment } from "./environment.ts";
import { compile } from "./program.ts";

const fields: Record<string, CelType> = { a: int, s: string, l: bounded(listOf(int), 10) };
const self = objectOf({
  name: "object",
  field: (name) =>
    Object.hasOwn(fields, name) ? { key: name, type: fields[name] ?? dyn } : undefined,
});
const environment = Environment.kubernetes({
  variables: { self, oldSelf: optionalOf(self), object: dyn, flag: bool },
});

const started =
  "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', " +
  "NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";

/** Expression, place of the first error, its words. */
const wrong: readonly (readonly [string, string, string])[] = [
  ["foo.bar == 1", "1:1", "undeclared reference to 'foo' (in container '')"],
  ["self.zz == 1", "1:5", "undefined field 'zz'"],
  ["self.a == 'x'", "1:8", "found no matching overload for '_==_' applied to '(int, string)'"],
  [
    "self.a.startsWith('x')",
    "1:18",
    "found no matching overload for 'startsWith' applied to 'int.(string)'",
  ],
  [
    "self.a >= oldSelf.a",
    "1:8",
    "found no matching overload for '_>=_' applied to '(int, optional_type(int))'",
  ],
  [
    "object.n == 1 ? 'one' : null",
    "1:15",
    "found no matching overload for '_?_:_' applied to '(bool, string, null)'",
  ],
  ["[1, 'a'].size() == 2", "1:5", "expected type 'int' but found 'string'"],
  ["has(object)", "1:5", "invalid argument to has() macro"],
  ["frob(1)", "1:5", "undeclared reference to 'frob' (in container '')"],
  ["object.spec.frob() == 1", "1:17", "undeclared reference to 'frob' (in container '')"],
  ["flag && namespace == 'b'", "1:9", "reserved identifier: namespace"],
  ["'a'.matches('[')", "1:13", "invalid matches argument"],
  ["duration('5 years') > duration('1h')", "1:10", "invalid duration argument"],
  ["timestamp('yesterday') == null", "1:11", "invalid timestamp argument"],
  ["self.a >", "1:9", `Syntax error: mismatched input '<EOF>' expecting ${started}`],
  ["object.spec.", "1:13", "Syntax error: no viable alternative at input '.'"],
  ["(1 == 1", "1:8", "Syntax error: missing ')' at '<EOF>'"],
  ["[1", "1:3", "Syntax error: mismatched input '<EOF>' expecting {']', ','}"],
  ["self.in == 'a'", "1:6", "Syntax error: no viable alternative at input '.in'"],
  ["[1,2,3].slice(0,2) == [1,2]", "1:14", "undeclared reference to 'slice' (in container '')"],
];

describe("cel: compile errors", () => {
  for (const [text, place, words] of wrong) {
    it(text, () => {
      const { error } = compile(text, environment);
      const line = Number(place.split(":")[1]) - 1;
      const mark = `\n | ${text}\n | ${".".repeat(line)}^`;
      assert.equal(
        error?.slice(0, error.indexOf("^") + 1),
        `ERROR: <input>:${place}: ${words}${mark}`,
      );
    });
  }

  it("reports fields of constructed objects", () => {
    const patches = environment.extend({ variables: {}, openType: "Object" });
    const first = (text: string) =>
      /<input>:\S+ (.*)/.exec(compile(text, patches).error ?? "")?.[1];
    assert.equal(
      first("JSONPatch{op: 1}"),
      "expected type of field 'op' is 'string' but provided type is 'int'",
    );
    assert.equal(
      first("JSONPatch{what: 'x'}"),
      "expected type of field 'what' is '' but provided type is 'string'",
    );
    const { error = "" } = compile("Object{a: 1, `b-c`: 1}", patches);
    assert.match(error, /^ERROR: <input>:1:8: unsupported syntax: '`'/);
  });

  it("reports every error at its line", () => {
    assert.equal(
      compile("object.a == 1 &&\n  foo == 2 &&\n  bar == 3", environment).error,
      [
        "ERROR: <input>:2:3: undeclared reference to 'foo' (in container '')",
        " |   foo == 2 &&",
        " | ..^",
        "ERROR: <input>:3:3: undeclared reference to 'bar' (in container '')",
        " |   bar == 3",
        " | ..^",
      ].join("\n"),
    );
  });

  it("renders no source line for an empty text", () => {
    assert.equal(
      compile("", environment).error,
      `ERROR: <input>:1:0: Syntax error: mismatched input '<EOF>' expecting ${started}`,
    );
  });

  it("recovers after an operator in place of a field", () => {
    const error = compile('self.in == "a"', environment).error ?? "";
    assert.match(error, /1:9: Syntax error: extraneous input '==' expecting \{'\[', /);
  });

  it("rejects nesting that would overflow the stack", () => {
    for (const text of [
      `${"[".repeat(5_000)}${"]".repeat(5_000)}`,
      `1${" + 1".repeat(5_000)}`,
      `self${".a".repeat(5_000)}`,
      `${"!(".repeat(5_000)}true${")".repeat(5_000)}`,
    ]) {
      assert.match(compile(text, environment).error ?? "", /recursion limit exceeded: 250/);
    }
  });
});
