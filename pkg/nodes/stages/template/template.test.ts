import { strict as assert } from "node:assert";
import { Template } from "./template.ts";

const data = {
  name: "web",
  empty: "",
  zero: 0,
  three: 3,
  big: 9_007_199_254_740_993n,
  list: ["a", "b"],
  nested: { key: { deep: "x" }, "a.b/c": "slash" },
  nothing: null,
  map: { b: 2, a: 1 },
};

function render(text: string, functions = {}): string {
  return new Template(text, Object.keys(functions)).render(data, functions);
}

describe("Go templates", () => {
  const cases: Readonly<Record<string, string>> = {
    plain: "plain",
    "{{ .name }}": "web",
    "{{.name}}-{{.three}} {{ .big }}": "web-3 9007199254740993",
    "{{ .nested.key.deep }}": "x",
    "{{ .missing }} {{ .missing.of.nothing }}": "<no value> <no value>",
    "{{ .list }} {{ .map }}": "[a b] map[a:1 b:2]",
    "a {{- /* comment */ -}} b": "ab",
    "a {{/* comment */}} b": "a  b",
    "a \n {{- .name -}} \n b": "awebb",
    "{{ -3 }} {{ 0x10 }} {{ 1.5 }} {{ 1_000 }}": "-3 16 1.5 1000",
    '{{ "a\\tb" }}{{ `c\\d` }}': "a\tbc\\d",
    "{{ true }} {{ $.name }}": "true web",
    "{{ $x := .name }}{{ $x }}": "web",
    "{{ $x := 1 }}{{ if true }}{{ $x = 2 }}{{ end }}{{ $x }}": "2",
    "{{ $x := 1 }}{{ if true }}{{ $x := 2 }}{{ $x }}{{ end }}{{ $x }}": "21",
    "{{ if .empty }}a{{ else if .zero }}b{{ else }}c{{ end }}": "c",
    "{{ if .name }}a{{ else }}b{{ end }}": "a",
    "{{ with .nested.key }}{{ .deep }}{{ $.name }}{{ else }}none{{ end }}": "xweb",
    "{{ with .missing }}a{{ else with .name }}{{ . }}{{ end }}": "web",
    "{{ with $n := .name }}{{ $n }}{{ end }}": "web",
    "{{ range .list }}<{{ . }}>{{ end }}": "<a><b>",
    "{{ range $i, $e := .list }}{{ $i }}{{ $e }}{{ end }}": "0a1b",
    "{{ range $k, $v := .map }}{{ $k }}={{ $v }},{{ end }}": "a=1,b=2,",
    "{{ range .missing }}a{{ else }}none{{ end }}": "none",
    "{{ range 3 }}{{ . }}{{ end }}": "012",
    '{{ range .list }}{{ if eq . "a" }}{{ continue }}{{ end }}{{ . }}{{ end }}': "b",
    "{{ range .list }}{{ . }}{{ break }}{{ end }}": "a",
    "{{ range $e := .list }}{{ $x := $e }}{{ $x }}{{ end }}": "ab",
    '{{ (index .list 1) }} {{ index .nested "a.b/c" }} {{ (.nested.key).deep }}': "b slash x",
    '{{ or .empty .missing "last" }} {{ and .name .three }} {{ not .name }}': "last 3 false",
    '{{ or .name (fail "never") }} {{ and .empty (fail "never") }}': "web ",
    '{{ .name | printf "%s-%d" "x" | upper }}': "X-%!D(STRING=WEB)",
    '{{ printf "%05d|%-4s|%4s|%.2f|%q|%v|%t|%x" 42 "a" "b" 1.005 "q\\"" .list true 255 }}':
      '00042|a   |   b|1.00|"q\\""|[a b]|true|ff',
    '{{ printf "%s %d" }}{{ printf "a" 1 }}': "%!s(MISSING) %!d(MISSING)a%!(EXTRA int=1)",
    '{{ eq .missing "Always" }} {{ eq .three 1 2 3 }} {{ ne .name "a" }}': "false true true",
    '{{ lt 1 2 }} {{ ge 2 2 }} {{ gt "b" "a" }} {{ le 3 2 }}': "true true true false",
    '{{ len .list }} {{ len "é" }} {{ len .map }} {{ slice "abcd" 1 3 }}': "2 2 2 bc",
    '{{ print 1 2 "a" "b" 3 }} {{ html "<a>" }}': "1 2ab3 &lt;a&gt;",
    '{{ default "d" .empty }} {{ coalesce .empty .missing "c" }} {{ ternary 1 2 true }}': "d c 1",
    '{{ dict "a" 1 | toJson }} {{ (dict "a" 1).a }} {{ hasKey .map "a" }}': '{"a":1} 1 true',
    '{{ list 1 2 | join "-" }} {{ splitList "," "a,b" | last }} {{ until 3 }}': "1-2 b [0 1 2]",
    "{{ add 1 2 3 }} {{ sub 5 2 }} {{ mul 2 3 }} {{ div 7 2 }} {{ mod -7 3 }} {{ max 1 9 4 }}":
      "6 3 6 3 -1 9",
    '{{ "x\\ny" | indent 2 }}{{ "z" | nindent 1 }}': "  x\n  y\n z",
    '{{ trimPrefix "a" "abc" }} {{ replace "b" "-" "abc" }} {{ quote .name }} {{ hasPrefix "w" .name }}':
      'bc a-c "web" true',
    '{{ int "7" }} {{ int .missing }} {{ round 1.2345 2 }} {{ .name | b64enc }}': "7 0 1.23 d2Vi",
    '{{ "a}}b" }}': "a}}b",
  };
  for (const [text, expected] of Object.entries(cases)) {
    it(`render ${text}`.replaceAll("\n", " ").slice(0, 90), () => {
      assert.equal(render(text), expected);
    });
  }

  it("call the passed functions with their arguments", () => {
    const functions = {
      Join: (...values: readonly unknown[]) => values.join("+"),
      Name: () => "n",
    };
    assert.equal(render("{{ Name }} {{ .name | Join Name (Join 1 2) }}", functions), "n n+1+2+web");
  });

  it("reject invalid templates, with the line", () => {
    const faults: Readonly<Record<string, string>> = {
      "{{ .a": "line 1: unclosed action",
      "a\n{{ if .a }}": "line 2: {{if}} is not closed",
      "{{ end }}": "line 1: unexpected {{end}}",
      "{{ else }}": "line 1: unexpected {{else}}",
      "{{ if .a }}{{ else }}{{ else }}{{ end }}": "line 1: {{if}} is not closed",
      "{{ }}": "line 1: unexpected end of the action",
      "{{ . | }}": "line 1: unexpected end of the action",
      "{{ $x }}": "line 1: undefined variable $x",
      "{{ $x = 1 }}": "line 1: undefined variable $x",
      "{{ if $x := 1 }}{{ end }}{{ $x }}": "line 1: undefined variable $x",
      "{{ unknown 1 }}": 'line 1: function "unknown" not defined',
      "{{ constructor }}": 'line 1: function "constructor" not defined',
      "{{ .a .b }}": "line 1: arguments for a value that is not a function",
      "{{ 1 | 2 }}": "line 1: a pipe leads into a value that is not a function",
      "{{ break }}": "line 1: {{break}} outside {{range}}",
      '{{ template "x" }}': "line 1: {{template}} is not supported",
      "{{ 'a' }}": "line 1: characters are not supported",
      "{{ ) }}": 'line 1: unexpected ")"',
      "{{ (1 }}": "line 1: unexpected end of the action",
      '{{ a"b" }}': 'line 1: unexpected character "\\"" in an action',
      "{{ ; }}": 'line 1: unexpected character ";" in an action',
    };
    const found = Object.keys(faults).map((text) => [text, messageOf(() => new Template(text))]);
    assert.deepEqual(Object.fromEntries(found), faults);
  });

  it("fail on data that does not match, with the line", () => {
    const faults: Readonly<Record<string, string>> = {
      "\n{{ .name.x }}": "line 1: can't evaluate field x in string",
      "a\n{{ index .list 2 }}": "line 2: index out of range: 2",
      "{{ index .missing 0 }}": "line 1: index of untyped nil",
      "{{ eq .name 1 }}": "line 1: incompatible types for comparison",
      "{{ range .name }}{{ end }}": "line 1: range can't iterate over web",
      '{{ fail "on purpose" }}': "line 1: on purpose",
      "{{ div 1 0 }}": "line 1: division by zero",
    };
    const found = Object.keys(faults).map((text) => [text, messageOf(() => render(text))]);
    assert.deepEqual(Object.fromEntries(found), faults);
  });

  it("are limited in length, depth, steps and output", () => {
    const nested = "{{ if 1 }}".repeat(100) + "{{ end }}".repeat(100);
    assert.match(
      messageOf(() => render(nested)),
      /too deep/,
    );
    assert.match(
      messageOf(() => render(`{{ ${"(".repeat(100)}1${")".repeat(100)} }}`)),
      /too deep/,
    );
    assert.match(
      messageOf(() => render("x".repeat(300_000))),
      /too long/,
    );
    const loops = "{{ range 1000 }}{{ range 1000 }}{{ end }}{{ end }}";
    assert.match(
      messageOf(() => render(loops.replace("{{ end }}{{", "x{{ end }}{{"))),
      /steps/,
    );
    assert.match(
      messageOf(() => render('{{ repeat 2000000 "x" }}')),
      /too long/,
    );
    assert.match(
      messageOf(() => render('{{ range 3 }}{{ repeat 900000 "x" }}{{ end }}')),
      /longer/,
    );
    const doubling = `{{ $x := "ab" }}${'{{ $x = replace "b" "bb" $x }}'.repeat(40)}`;
    assert.match(
      messageOf(() => render(doubling)),
      /too long/,
    );
    assert.match(
      messageOf(() => render("{{ until 20000 }}")),
      /longer than 10000/,
    );
    assert.match(
      messageOf(() => render('{{ printf "%99999d" 1 }}')),
      /too wide/,
    );
  });

  it("do not access inherited properties of their data", () => {
    assert.equal(render("{{ .constructor }} {{ .map.toString }}"), "<no value> <no value>");
    assert.equal(render('{{ dict "__proto__" 1 | toJson }}'), '{"__proto__":1}');
  });
});

function messageOf(make: () => unknown): string {
  try {
    make();
  } catch (error) {
    return (error as Error).message;
  }
  return "";
}
