import assert from "node:assert/strict";
import { bool, dyn, int, mapOf, string } from "../check/types.ts";
import { Environment } from "../environment.ts";
import { compile } from "../program.ts";

const variables = { device: dyn, cel: mapOf(string, int), n: int, flag: bool };
const plain = Environment.kubernetes({ variables: { device: dyn, n: int } });
const binding = Environment.kubernetes({ variables: { device: dyn, n: int }, bindings: true });

/** The value for a device of driver "d" with attribute x.k, and the cost of the evaluation. */
function run(text: string, environment = binding): { value: unknown; cost: number } {
  const { program, reason } = compile(text, environment);
  assert(program !== undefined, reason);
  const { value, cost, error } = program.evaluate({ device: { x: { k: true } }, n: 4 });
  assert.equal(error, undefined, text);
  return { value, cost };
}

describe("cel/syntax/macros: cel.bind", () => {
  it("evaluates the expression with the name bound to the value", () => {
    for (const [text, value] of [
      ["cel.bind(a, device.x, a.k)", true],
      ["cel.bind(a, n, cel.bind(b, a + 1, a + b))", 9],
      ["cel.bind(a, n, cel.bind(a, a + 1, a))", 5],
      ["cel.bind(n, n + 1, n) + n", 9],
      ["[1, 2].map(i, cel.bind(double, i * 2, double))[1]", 4],
      ["cel.bind(a, [], (a + [1]).size() * 10 + (a + [1]).size())", 11],
      ["cel.bind(a, [], [1, 2].map(i, a + [i])).all(l, l.size() == 1)", true],
      ["cel.bind(a, {}, [1, 2].map(i, a).size())", 2],
      ["cel.bind(all, [1, 2], all.all(i, i > 0))", true],
    ] as const) {
      assert.equal(run(text).value, value, text);
    }
  });

  it("evaluates the value once", () => {
    const sum = "[n, n, n, n].sum()";
    const twice = run(`${sum} + ${sum}`).cost;
    const once = run(`cel.bind(a, ${sum}, a + a)`).cost;
    assert(once < twice, `${once} against ${twice}`);
  });

  it("estimates the size of bound values", () => {
    const { program } = compile("cel.bind(a, n, a + a) == 2", binding);
    assert(program !== undefined);
    assert(program.estimatedCost.max < 100, String(program.estimatedCost.max));
  });

  it("rejects variables that are not simple names", () => {
    for (const variable of ["a.b", "'a'", "1", "f(a)", ".a"]) {
      const { error } = compile(`cel.bind(${variable}, 1, true)`, binding);
      const message = "cel.bind() variable names must be simple identifiers";
      assert(error?.includes(message), `${variable}: ${error}`);
    }
  });

  it("does not leak the name beyond its expression", () => {
    const { error } = compile("cel.bind(a, 1, a) == a", binding);
    assert(error?.includes("undeclared reference to 'a'"), error);
    const recursive = compile("cel.bind(a, a + 1, a)", binding);
    assert(recursive.error?.includes("undeclared reference to 'a'"), recursive.error);
  });

  it("expands only three arguments of a receiver named cel", () => {
    for (const text of ["cel.bind(a, 1)", "cel.bind(a, 1, 2, 3)", "other.bind(a, 1, a)"]) {
      assert.notEqual(compile(text, binding).error, undefined, text);
    }
    const shadowed = Environment.kubernetes({ variables, bindings: true });
    assert.equal(compile("cel.bind(a, cel, a)['k'] == 1", shadowed).error, undefined);
  });

  it("is unknown to environments without bindings", () => {
    const { error } = compile("cel.bind(a, 1, a == 1)", plain);
    assert(error?.includes("undeclared reference to 'cel' (in container '')"), error);
    assert.notEqual(compile("cel.bind(a, 1, a)", plain.extend({ variables })).error, undefined);
  });
});
