import assert from "node:assert/strict";
import { seededRandom } from "#base";
import { stageFunctions } from "./compile/stage-functions.ts";
import { builtins } from "./jq/functions.ts";
import { Query } from "./jq/query.ts";
import { goFunctions } from "./template/go-functions.ts";
import { sprigFunctions } from "./template/sprig-functions.ts";
import { Template } from "./template/template.ts";

const text = "a".repeat(40_000);
const list = Array.from({ length: 1_000 }, (_, at) => `item ${at}`);
const dict = Object.fromEntries(list.map((item) => [item, item]));
const numbers = list.map((_, at) => at);
const data = { text, list, dict, numbers };

const ofStages = stageFunctions({
  now: 0,
  startedAt: 0,
  version: "v0",
  nodeName: "node",
  nodeAddress: "127.0.0.1",
  nodePort: 0,
  podAddress: () => "10.0.0.1",
  random: seededRandom("cost"),
});
const functions = { ...goFunctions, ...sprigFunctions, ...ofStages };
/** Functions whose only input is a number, and `fail`, which always fails. */
const withoutInput = ["fail", "until", "randInt", "randAlphaNum"];
/** They look at the truth of their arguments only. */
const lazy = ["and", "or"];

const argumentLists = [
  "$.text",
  "$.list",
  "$.dict",
  "$.numbers",
  "$.text $.text",
  "$.list $.list",
  "$.dict $.dict",
  '"a" $.text "b"',
  "1 $.text",
  '$.dict "a"',
  "$.list 1",
  '"a" $.list',
  '"%s" $.text',
  "1 2 $.text",
  '"a" "b" $.text',
];

function faultOf(template: string): string {
  const parsed = new Template(template, Object.keys(ofStages));
  try {
    parsed.render(data, ofStages);
  } catch (error) {
    return (error as Error).message;
  }
  return "";
}

describe("the cost of templates", () => {
  for (const [name, { length }] of Object.entries(functions)) {
    const isNullary = length === 0 && /^[A-Z]/.test(name) && !/With|YAML/.test(name);
    if (withoutInput.includes(name) || isNullary || name === "uuidv4") continue;
    it(`of ${name} counts its input`, () => {
      const valid = argumentLists.filter((args) => faultOf(`{{ $y := ${name} ${args} }}`) === "");
      const repeated = valid
        .slice(0, 3)
        .map((args) => faultOf(`{{ range 1000 }}{{ $y := ${name} ${args} }}{{ end }}`));
      const counted = repeated.filter((fault) => /more than 200000 steps/.test(fault));
      assert.ok(counted.length > 0, `${name} is not counted`);
      if (!lazy.includes(name)) assert.equal(counted.length, repeated.length, repeated.join("\n"));
    });
  }

  const others: Readonly<Record<string, string>> = {
    "the reported Stage":
      '{{ $x := repeat 999999 "a" }}{{ range 60000 }}{{ $y := sha256sum $x }}{{ end }}',
    "empty loops": "{{ range 1000 }}{{ range 10000 }}{{ end }}{{ end }}",
    "loops over maps": "{{ range 1000 }}{{ range $.dict }}{{ end }}{{ end }}",
    "conditions on maps": "{{ range 1000 }}{{ if $.dict }}{{ end }}{{ end }}",
    paths: `{{ range 1000 }}{{ $y := $.missing${".a".repeat(1_000)} }}{{ end }}`,
    "printed values": "{{ range 5000 }}{{ slice (print $.list) 0 0 }}{{ end }}",
    "values that contain others often": `{{ $x := list 1 }}${"{{ $x = list $x $x }}".repeat(60)}{{ $x }}`,
    "nested values": "{{ $x := list 1 }}{{ range 50000 }}{{ $x = list $x }}{{ end }}{{ $x }}",
    variables: `{{ $x := 1 }}${"{{ $y := 1 }}".repeat(5_000)}{{ range 5000 }}{{ $z := $x }}{{ end }}`,
  };
  for (const [name, template] of Object.entries(others)) {
    it(`counts ${name}`, () => assert.match(faultOf(template), /steps/));
  }

  it("limits the output of wide fields", () => {
    const many = `printf (repeat 2000 "%999d")${" 1".repeat(2_000)}`;
    assert.match(faultOf(`{{ ${many} }}`), /printf: text is too long/);
  });

  it("lets a template go through an object a few hundred times", () => {
    assert.equal(faultOf('{{ range 150 }}{{ $y := index $.dict "item 1" }}{{ end }}'), "");
  });
});

describe("the cost of queries", () => {
  const inputs = {
    texts: text,
    lists: list,
    maps: dict,
    numbers,
    conditions: list.map(() => true),
  };
  const fails = (query: string, of: unknown) => new Query(query).execute(of) === undefined;

  for (const key of Object.keys(builtins)) {
    const [name = "", arity] = key.split("/");
    const call = arity === "0" ? name : `${name}(.)`;
    // They pass their input on.
    if (["empty", "values", "not", "type", "select", "tonumber", "has"].includes(name)) continue;
    it(`of ${key} counts its input`, () => {
      const valid = Object.values(inputs).filter((input) => !fails(call, input));
      assert.ok(valid.length > 0);
      for (const input of valid) assert.ok(fails(`.[] | ${call}`, Array(1_000).fill(input)));
    });
  }

  for (const operator of ["==", "!=", "<", "<=", ">", ">="]) {
    it(`of ${operator} counts its operands`, () => {
      for (const input of Object.values(inputs)) {
        assert.ok(!fails(`. ${operator} .`, input));
        assert.ok(fails(`.[] | . ${operator} .`, Array(1_000).fill(input)));
      }
    });
  }

  it("counts outputs", () => {
    assert.ok(fails(Array(40).fill("(.,.)").join("|"), 1));
    assert.ok(fails(Array(40).fill("(true,true)").join(" and "), 1));
    assert.ok(fails(`.[(${Array(40).fill("(.,.)").join("|")})]`, 1));
  });

  it("is a fault that a query cannot handle", () => {
    const input = Array(1_000).fill(text);
    assert.ok(fails("(.[] | length)?", input));
    assert.ok(fails("(.[] | length) // 1", input));
  });
});
