/** Errors of Kubernetes 1.34.9 for expressions at the edges of the grammar and of its types. */
import assert from "node:assert/strict";
import { Environment } from "./environment.ts";
import { compile } from "./program.ts";
import { dyn } from "./check/types.ts";

const environment = Environment.kubernetes({ variables: { self: dyn } });
const literals = "'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER";
const argument = `{'[', '{', '(', ')', '.', '-', '!', ${literals}}`;

describe("syntax errors", () => {
  const mistakes: readonly (readonly [source: string, message: string])[] = [
    ["f(", `1:3: Syntax error: mismatched input '<EOF>' expecting ${argument}`],
    ["self.f(", `1:8: Syntax error: mismatched input '<EOF>' expecting ${argument}`],
    ["self.all(", `1:10: Syntax error: mismatched input '<EOF>' expecting ${argument}`],
    ["f(]", `1:3: Syntax error: mismatched input ']' expecting ${argument}`],
    ["f(,", `1:3: Syntax error: mismatched input ',' expecting ${argument}`],
    [
      "f(1,",
      "1:5: Syntax error: mismatched input '<EOF>' expecting " +
        `{'[', '{', '(', '.', '-', '!', ${literals}}`,
    ],
    [
      "self[",
      "1:6: Syntax error: mismatched input '<EOF>' expecting " +
        `{'[', '{', '(', '.', '-', '!', '?', ${literals}}`,
    ],
    [
      "[",
      "1:2: Syntax error: mismatched input '<EOF>' expecting " +
        `{'[', ']', '{', '(', '.', ',', '-', '!', '?', ${literals}}`,
    ],
    ["[1,", "1:4: Syntax error: missing ']' at '<EOF>'"],
    ["{1:2,", "1:6: Syntax error: missing '}' at '<EOF>'"],
    ["'\\d'", "1:1: Syntax error: token recognition error at: ''\\d'"],
    ["b'\\q'", "1:2: Syntax error: token recognition error at: ''\\q'"],
  ];
  for (const [source, message] of mistakes) {
    it(`name what is expected in ${source}`, () => {
      const { error = "" } = compile(source, environment);
      assert.ok(error.startsWith(`ERROR: <input>:${message}\n`), error);
    });
  }
});

describe("values at the edges of types", () => {
  const results: readonly (readonly [source: string, result: unknown])[] = [
    ...["0.0/0.0 < 1.0", "1 > 0.0/0.0", "1u <= 0.0/0.0", "0.0/0.0 >= 0.0/0.0"].map(
      (source) => [source, "error: NaN values cannot be ordered"] as const,
    ),
    ["0.0/0.0 == 0.0/0.0", false],
    ["0.0/0.0 != 1.0", true],
    ["[0.0/0.0, 1.0].isSorted()", true],
    ["string([1.0, 0.0/0.0].max())", "1"],
    ["'aaa'.findAll('a*').join('|')", "aaa"],
    ["'baaac'.findAll('a*').join('|')", "|aaa|"],
    ["'aab'.findAll('a*|b').join('|')", "aa|"],
    ["'aab'.findAll('a*', 2).join('|')", "aa|"],
    ["duration('2562047h') + duration('2562047h')", "error: integer overflow"],
    ["duration('-2562047h') - duration('2562047h')", "error: integer overflow"],
    [
      "timestamp('9999-01-01T00:00:00Z') - timestamp('0001-01-01T00:00:00Z')",
      "error: integer overflow",
    ],
  ];
  for (const [source, result] of results) {
    it(source, () => {
      const { program, error } = compile(source, environment);
      assert.ok(program !== undefined, error);
      const outcome = program.evaluate({ self: null });
      const found = outcome.error === undefined ? outcome.value : `error: ${outcome.error}`;
      assert.equal(found, result);
    });
  }
});
