/**
 * `node --conditions=source --import=tsx test/bench/parts/cel.ts`: evaluations per second on one core,
 * with cost tracking.
 */
import { compile, Environment, structuralType } from "#cel";

const self = structuralType({
  type: "object",
  properties: {
    replicas: { type: "integer" },
    least: { type: "integer" },
    name: { type: "string" },
    list: { type: "array", items: { type: "string" } },
  },
});
if (self === undefined) throw new Error("the schema has a type");
const environment = Environment.kubernetes({ variables: { self } });
const bindings = {
  self: { replicas: 3, least: 1, name: "abc", list: ["a", "bb", "ccc", "d", "e"] },
};
const rules = [
  "self.replicas <= 5",
  "self.least <= self.replicas",
  "self.replicas <= 5 && self.name.startsWith('a')",
  "!has(self.name) || self.name == 'abc'",
  "self.name.matches('^[a-z]+$')",
  "self.list.all(x, x.size() < 10)",
];
const rounds = 1_000_000;

for (const rule of rules) {
  const { program, error } = compile(rule, environment);
  if (program === undefined) throw new Error(error);
  for (let warming = 0; warming < rounds / 5; warming++) program.evaluate(bindings, 1_000);
  const start = performance.now();
  for (let round = 0; round < rounds; round++) program.evaluate(bindings, 1_000);
  const rate = Math.round((rounds / (performance.now() - start)) * 1_000);
  console.log(`${rate.toLocaleString("en").padStart(12)} /s  ${rule}`);
}
