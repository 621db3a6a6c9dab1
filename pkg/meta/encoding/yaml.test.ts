import assert from "node:assert/strict";
import { parseYaml, YamlFault } from "./yaml.ts";
import { printYaml } from "./yaml-print.ts";

function refusal(text: string): string {
  try {
    parseYaml(text);
  } catch (error) {
    if (error instanceof YamlFault) return error.message;
    throw error;
  }
  return "accepted";
}

describe("parseYaml", () => {
  /** a YAML scalar and the JSON value it means */
  const scalars: readonly (readonly [string, unknown])[] = [
    ["yes", true],
    ["Off", false],
    ["y", true],
    ["'y'", "y"],
    ["~", null],
    ["", null],
    ["0x10", 16],
    ["0o17", 15],
    ["017", 15],
    ["08", 8],
    ["1_000", 1000],
    ["-5", -5],
    [".5", 0.5],
    ["1.0", 1],
    ["1e3", 1000],
    ["9007199254740993", 9007199254740993n],
    ["2001-01-01", "2001-01-01"],
    ["2001-01-01T00:00:00Z", "2001-01-01T00:00:00Z"],
    ["12:30:45", "12:30:45"],
    ["1.2.3", "1.2.3"],
    ["!!str 5", "5"],
    ["!!float 5", 5],
    ["!own 5", "5"],
    ["!!binary |\n YQ\n ==", "a"],
    ['"\\\\uD800"', "\\uD800"],
    ["'5'", "5"],
    ["0x", "0x"],
  ];
  for (const [text, value] of scalars) {
    it(`${text || "nothing"} is ${typeof value} ${String(value)}`, () => {
      assert.deepEqual(parseYaml(`a: ${text}\n`).value, { a: value });
    });
  }

  it("converts keys to strings", () => {
    const { value } = parseYaml("{1: a, y: b, 1.5: c, __proto__: d}");
    assert.equal(JSON.stringify(value), '{"1":"a","true":"b","1.5":"c","__proto__":"d"}');
  });

  it("reads the first document only", () => {
    assert.deepEqual(parseYaml("# note\n---\na: 1\n---\nb: [\n").value, { a: 1 });
    assert.deepEqual(parseYaml("a: |\n  ---\n  x\n...\n]").value, { a: "---\nx\n" });
    assert.equal(parseYaml("").value, null);
    assert.equal(parseYaml("---\n").value, null);
  });

  it("accepts any indentation within brackets and quotes", () => {
    const text = `spec:
  - args: [
    "a",
# note
"b", {
 c: d
}
  ]
    last: "e
f"
`;
    const element = { args: ["a", "b", { c: "d" }], last: "e f" };
    assert.deepEqual(parseYaml(text).value, { spec: [element] });
    assert.match(refusal("a:\n  b: [\n  c: d\n"), /^yaml: line 2: did not find expected /);
    const many = `a: [\n${"b,\n".repeat(20_000)}`;
    assert.match(refusal(many), /^yaml: line \d+: did not find expected /);
  });

  it("expands anchors, aliases and merge keys", () => {
    const { value } = parseYaml("base: &b {x: 1, z: 2}\nuse: *b\nmore: {<<: *b, x: 3}\n");
    assert.deepEqual(value, { base: { x: 1, z: 2 }, use: { x: 1, z: 2 }, more: { x: 3, z: 2 } });
    const { use, base } = value as { readonly use: object; readonly base: object };
    assert.notEqual(use, base);
  });

  it("reports duplicate keys by line", () => {
    const { value, duplicates } = parseYaml("a: 1\nb:\n  c: 1\n  c: 2\na: 3\n");
    assert.deepEqual(value, { a: 3, b: { c: 2 } });
    assert.deepEqual(duplicates, [
      'line 4: key "c" already set in map',
      'line 5: key "a" already set in map',
    ]);
  });

  const refused: readonly (readonly [string, string])[] = [
    ["a:\n\tb: 1\n", "yaml: line 2: found character that cannot start any token"],
    ["a: 1\nb: [c\n", "yaml: line 2: did not find expected ',' or ']'"],
    ['{"a":"b",', "yaml: line 1: did not find expected node content"],
    ["a: b: c\n", "yaml: mapping values are not allowed in this context"],
    ["x: 1\na: b: c", "yaml: line 2: mapping values are not allowed in this context"],
    ['"a', "yaml: found unexpected end of stream"],
    ["a: 'b\n", "yaml: line 2: found unexpected end of stream"],
    ["a: @b", "yaml: found character that cannot start any token"],
    ["x: 1\ny: `b", "yaml: line 2: found character that cannot start any token"],
    ["- a\nb: c", "yaml: line 1: did not find expected '-' indicator"],
    ["a: 1\n- b", "yaml: line 1: did not find expected key"],
    ["x: 1\nm:\n  name: a\n name: b", "yaml: line 3: did not find expected key"],
    ["x:\n  l:\n    a: b\n   c: d", "yaml: line 3: did not find expected key"],
    ["x:\n  - a\n  b: c", "yaml: line 2: did not find expected '-' indicator"],
    ["x: 'a\n  b: c\n", "yaml: line 3: found unexpected end of stream"],
    ["k:\n  v: %x", "yaml: line 2: found character that cannot start any token"],
    ["a: *b\n", "yaml: unknown anchor 'b' referenced"],
    ["a: .inf\n", "json: unsupported value: +Inf"],
    ["{[a]: b}", 'yaml: invalid map key: []interface {}{"a"}'],
    [
      "? [a, {b: 1}, ~]\n: c",
      "yaml: invalid map key: " +
        '[]interface {}{"a", map[interface {}]interface {}{"b":1}, interface {}(nil)}',
    ],
    [
      "null: {b: c, a: 1.5}",
      "unsupported map key of type: %!s(<nil>), key: <nil>, " +
        'value: map[interface {}]interface {}{"a":1.5, "b":"c"}',
    ],
    ["%A b\n---\na: b", "yaml: found unknown directive name"],
    ["# c\n%A b\n---\na: b", "yaml: line 2: found unknown directive name"],
    ["%", "yaml: could not find expected directive name"],
    ["%YAML x\n---\na: b", "yaml: did not find expected version number"],
    ["%YAML 1.2\n---\na: b", "yaml: found incompatible YAML document"],
    ["%YAML 1.1\n%YAML 1.1\n---\na: b", "yaml: line 1: found duplicate %YAML directive"],
    ["%YAML 1.1\na: b", "yaml: line 1: did not find expected <document start>"],
    ["...\na: b", "yaml: did not find expected node content"],
    ["# c\n...\na: b", "yaml: line 1: did not find expected node content"],
    ["\ta: b", "yaml: found character that cannot start any token"],
    ["a: !!binary '%%%'", "yaml: !!binary value contains invalid base64 data"],
    ["a: !!binary YQ", "yaml: !!binary value contains invalid base64 data"],
    ["a: !!int x", "yaml: cannot decode !!str `x` as a !!int"],
    ["a: !!int 1.5", "yaml: cannot decode !!float `1.5` as a !!int"],
    ["a: !!bool <<", "yaml: cannot decode !!str `<<` as a !!bool"],
    ["a: !e!b c", "yaml: found undefined tag handle"],
    ["x: y\na: !e!b c", "yaml: line 1: found undefined tag handle"],
    ["a: &a &b c", "yaml: did not find expected key"],
    ["x: y\na: &a &b c", "yaml: line 1: did not find expected key"],
    ["}", "yaml: did not find expected node content"],
    ["a: b\n]", "yaml: line 1: did not find expected key"],
    ['a: "b" c', "yaml: did not find expected key"],
    ["a: [b] c", "yaml: did not find expected key"],
    ["k: |9\n   x", "yaml: line 1: did not find expected key"],
    ["a: |0\n x", "yaml: found an indentation indicator equal to 0"],
    ["a: >x\n b", "yaml: did not find expected comment or line break"],
    ["a: - b", "yaml: block sequence entries are not allowed in this context"],
    ["x:\n- a: - b", "yaml: line 2: block sequence entries are not allowed in this context"],
    ['a: "\\q"', "yaml: found unknown escape character"],
    ['a: "\\x4"', "yaml: did not find expected hexdecimal number"],
    ['"\\uD83D\\uDE00": b', "yaml: found invalid Unicode character escape code"],
    ['x: y\na: "\\U00110000"', "yaml: line 2: found invalid Unicode character escape code"],
    ["a: b # \u0001", "yaml: control characters are not allowed"],
    ["a: 'b\u007f'", "yaml: control characters are not allowed"],
    ["<<: 5\n", "yaml: map merge requires map or sequence of maps as the value"],
  ];
  for (const [text, message] of refused) {
    it(`rejects ${JSON.stringify(text)}`, () => assert.equal(refusal(text), message));
  }

  it("rejects alias bombs quickly", () => {
    const levels = Array.from({ length: 12 }, (_, level) => {
      const element = level === 0 ? "x" : `*a${level - 1}`;
      return `a${level}: &a${level} [${Array(9).fill(element).join(",")}]`;
    });
    assert.equal(refusal(levels.join("\n")), "yaml: document contains excessive aliasing");
    assert.match(refusal("[".repeat(100_000)), /exceeded max depth/);
  });
});

describe("printYaml", () => {
  it("prints like Kubernetes' YAML encoder", () => {
    const object = {
      metadata: { name: "x", creationTimestamp: "2024-01-02T03:04:05Z", labels: {} },
      data: { a: "1", b: "no", c: "two\nlines", d: " x", e: "1.0", f: "", g: "a: b", h: "0x1" },
      items: [{ b: 1, a: [true, null] }, [], "s", [[1]]],
      k10: "tab\there",
      k2: "it's #1",
    };
    assert.equal(
      printYaml(object),
      `data:
  a: "1"
  b: "no"
  c: |-
    two
    lines
  d: ' x'
  e: "1.0"
  f: ""
  g: 'a: b'
  h: "0x1"
items:
- a:
  - true
  - null
  b: 1
- []
- s
- - - 1
k2: 'it''s #1'
k10: "tab\\there"
metadata:
  creationTimestamp: "2024-01-02T03:04:05Z"
  labels: {}
  name: x
`,
    );
  });

  it("folds long strings at spaces, but not keys", () => {
    const text = Array(30).fill("word").join(" ");
    const key = "k".repeat(100);
    const lines = printYaml({ [key]: 1, text }).split("\n");
    assert.equal(lines[0], `${key}: 1`);
    assert.equal(lines[1], `text: ${Array(16).fill("word").join(" ")}`);
    assert.equal(lines[2], `  ${Array(14).fill("word").join(" ")}`);
  });

  it("parses what it prints", () => {
    const texts = [
      "plain",
      "",
      " ",
      "a b",
      "yes",
      "~",
      "-",
      "- a",
      "#",
      "a #b",
      "a: b",
      "a:",
      ":a",
      "? a",
      "'",
      '"',
      "\\",
      "{",
      "[a]",
      "&a",
      "*a",
      "!a",
      "|",
      ">",
      "%",
      "@",
      "`",
      ",",
      "\n",
      "a\n",
      "a\n\n",
      "\na",
      " a\n",
      "a\n b",
      "a \nb",
      "a\t",
      "\u0001",
      "\u00e9",
      "\u0085",
      "\u2028",
      "\ud83d\ude00",
      "---",
      "...",
      "0",
      "1e3",
      "0x1",
      "12:30",
      "2001-01-01",
      ".inf",
      "<<",
      "=",
      `${"long ".repeat(40)}end`,
      `${"long  ".repeat(40)}'end'`,
      `${"long ".repeat(40)}\u0001`,
    ];
    for (const text of texts) {
      for (const value of [{ a: text }, { a: [text] }, { [text || "x"]: 1 }, [[text]]]) {
        const printed = printYaml(value);
        assert.deepEqual(parseYaml(printed).value, value, printed);
      }
    }
  });
});
