import assert from "node:assert/strict";
import { costLimits } from "./cost/limits.ts";
import { type Random, seededRandom } from "#base";
import { Environment } from "./environment.ts";
import { compile } from "./program.ts";
import { dyn, int, listOf, string } from "./check/types.ts";

const environment = Environment.kubernetes({
  variables: { object: dyn, n: int, l: listOf(string), x: dyn },
});
const bindings = {
  object: { a: 1, b: [1, "x", null, { c: 2.5 }], s: "t\u00e9xt", __proto__: null },
  n: 7,
  l: ["a", "bb"],
};

const words =
  "object n l a b s x . . ( ) ( ) [ ] { } , : ? ! - + * / % == != < <= && || in true null 0 1 " +
  "2.5 3u 'a' \"b\" b'c' .?a [?0] .all(x, .map(x, .exists_one(x, has( size( int( string( " +
  "duration('1h') timestamp('2024-01-01T00:00:00Z') .matches( .split( .format( type( dyn( " +
  "cel.bind(x, optional.of( .orValue( .optMap(x, ip('::1') quantity('1') @ ` \u00e9 \\ " +
  "9999999999999999999";
const pieces = words.split(" ");

function text(random: Random): string {
  const count = 1 + random.below(14);
  const parts = Array.from({ length: count }, () => random.pick(pieces));
  return parts.join(random.next() < 0.5 ? "" : " ");
}

const leaves =
  "object n l 1 -7 2.5 3u 'a' b'c' true null [] {} [1,2] {'k':1} object.a object.b object.s x " +
  "int duration('1h') timestamp('2024-01-01T00:00:00Z') optional.of(1) optional.none() " +
  "9223372036854775807";
const shapes =
  "(E)+(E) (E)-(E) (E)*(E) (E)/(E) (E)%(E) (E)==(E) (E)<(E) (E)&&(E) (E)||(E) " +
  "(E)?(E):(E) !(E) -(E) " +
  "(E)[E] (E)[?E] (E).a (E).?a (E)in(E) size(E) string(E) int(E) double(E) type(E) bytes(E) " +
  "[E,E].all(x,E) [E].map(x,E) l.filter(x,E) l.exists(x,E) [E,E].exists_one(x,E) [E,E] {E:E} " +
  "object.b.all(x,E) object.map(x,E) l.transformMap(i,x,E) cel.bind(x,E,E) 'aXb'.format([E,E]) " +
  "(E).contains(E) (E).matches(E) (E).split(E) (E).substring(E) (E).indexOf(E) (E).replace(E,E) " +
  "(E).orValue(E) (E).hasValue() (E).optMap(x,E) (E).sum() (E).max() sets.contains([E],[E]) " +
  "quantity(E) ip(E) cidr(E) url(E) semver(E) (E).getHours() (E).getHours(E) (E).join(E)";
const leafTexts = leaves.split(" ");
const shapeTexts = shapes.split(" ");

/** An expression that usually compiles, because operands of uncertain type are converted to dyn. */
function expression(random: Random, depth: number): string {
  if (depth === 0 || random.next() < 0.2) return `dyn(${random.pick(leafTexts)})`;
  const shape = random.pick(shapeTexts);
  return `dyn(${shape.replaceAll("E", () => expression(random, depth - 1))})`;
}

describe("cel: hostile expressions", () => {
  it("never throws in compilation or evaluation", () => {
    const random = seededRandom(20_241);
    let programs = 0;
    for (let round = 0; round < 6_000; round++) {
      const source = round % 2 === 0 ? text(random) : expression(random, 3);
      const { program, error } = compile(source, environment);
      assert.equal(program === undefined, typeof error === "string", source);
      if (program === undefined) continue;
      programs++;
      const outcome = program.evaluate({ ...bindings, x: 1 }, 10_000);
      assert(outcome.cost >= 0, source);
      assert.deepEqual(program.evaluate({ ...bindings, x: 1 }, 10_000), outcome, source);
    }
    assert(programs > 2_000, `${programs} programs`);
  });

  it("renders at most a hundred issues, and no overlong lines", () => {
    const { error = "" } = compile("y &&\n".repeat(5_000) + "y", environment);
    assert.equal(error.match(/undeclared reference/g)?.length, 100);
    assert.match(error, /\n4901 more errors were truncated$/);
    const long = compile("y && ".repeat(19_000) + "y", environment).error ?? "";
    assert(long.length < 10_000, `${long.length} characters`);
  });

  it("limits work by the budget", () => {
    const range = `[${new Array(50).fill("1").join(",")}]`;
    const bombs = [
      `${range}.all(a, ${range}.all(b, ${range}.all(c, ${range}.all(d, a + b + c + d > 0))))`,
      `${range}.map(a, ${range}.map(b, ${range}.map(c, [a, b, c]))).size() > 0`,
      "optional.of('xxxxxxxxxxxxxxxxxxxxxxxx').optMap(b, b+b+b+b+b+b+b+b).optMap(c, " +
        "c+c+c+c+c+c+c+c).optMap(d, d+d+d+d+d+d+d+d).optMap(e, e+e+e+e+e+e+e+e)" +
        ".optMap(f, f+f+f+f+f+f+f+f).optMap(g, g+g+g+g+g+g+g+g).optMap(h, h+h+h+h+h+h+h+h)",
      `${range}.all(x, object.b.all(y, y > 0 || ${range}.all(z, 1 / 0 > z) || true))`,
    ];
    for (const source of bombs) {
      const { program, error } = compile(source, environment);
      assert(program !== undefined, error);
      const outcome = program.evaluate(bindings, 1_000_000);
      assert(outcome.cost <= 1_000_000 || outcome.error !== undefined, source);
    }
  });

  it("survives data that is nested beyond the stack", () => {
    let deep: unknown = 1;
    for (let depth = 0; depth < 100_000; depth++) deep = [deep];
    const { program } = compile("object == x", environment);
    const outcome = program?.evaluate({ object: deep, x: [deep] });
    assert.equal(outcome?.error, "evaluation exceeds resources");
  });

  it("rejects patterns that are expensive to compile", () => {
    for (const pattern of ["(?:(?:a{31}){31})".repeat(1_000), "[[:alpha:]]".repeat(100_000)]) {
      const { program } = compile("'a'.matches(object)", environment);
      assert.match(program?.evaluate({ object: pattern }, 1e6).error ?? "", /expression too large/);
    }
  });

  it("parses long texts in linear time", () => {
    for (const source of [
      `'${"a\\n".repeat(30_000)}'`,
      `"${"a".repeat(99_990)}`,
      `${"1 || ".repeat(10_000)}true`,
      `[${"1,".repeat(49_000)}1]`,
      `${"// comment\n".repeat(9_000)}true`,
      "`".repeat(50_000),
      "a".repeat(100_001),
    ]) {
      compile(source, environment);
    }
  });

  it("caches the length of a long text over thousands of comparisons", () => {
    const terms = ["object.s != 'q'", "size(object.s) > 1", "object.s > 'a'"];
    for (const term of terms) {
      const { program } = compile(Array(4000).fill(term).join(" && "), environment);
      assert.ok(program !== undefined);
      const long = { ...bindings, object: { s: "x".repeat(500_000) } };
      const began = process.cpuUsage();
      assert.equal(program.evaluate(long, costLimits.object).value, true, term);
      const { user } = process.cpuUsage(began);
      // Each scan would take half a millisecond.
      assert.ok(user < 1_000_000, `${term}: ${user / 1000} ms`);
    }
  });
});
