import { strict as assert } from "node:assert";
import { Query } from "./query.ts";

const pod = {
  metadata: {
    name: "web-0",
    labels: { app: "web", "example.com/tier": "front" },
    finalizers: [],
    ownerReferences: [{ kind: "Job", name: "j" }, { kind: "Other" }],
  },
  spec: { containers: [{ name: "a" }, { name: "b" }], replicas: 3 },
  status: {
    phase: "Running",
    podIP: null,
    conditions: [
      { type: "Ready", status: "True" },
      { type: "Initialized", status: "False" },
    ],
  },
};

function execute(text: string): readonly unknown[] | undefined {
  return new Query(text).execute(pod);
}

describe("jq queries", () => {
  const cases: readonly (readonly [string, readonly unknown[] | undefined])[] = [
    [".status.phase", ["Running"]],
    [".", [pod]],
    [".status.podIP", []],
    [".status.hostIP.of.nothing", []],
    ['.metadata.labels["example.com/tier"]', ["front"]],
    ['.metadata.labels."example.com/tier"', ["front"]],
    ['.metadata["labels"].app', ["web"]],
    [".metadata.ownerReferences.[].kind", ["Job", "Other"]],
    [".metadata.ownerReferences[].name", ["j"]],
    [".spec.containers[1].name, .spec.containers[-1].name", ["b", "b"]],
    ['.status.conditions.[] | select( .type == "Ready" ) | .status', ["True"]],
    ['.status.conditions | map(select(.status == "False")) | length', [1]],
    ['.status.conditions | any(.type == "Ready" and .status == "True")', [true]],
    [".metadata.finalizers", [[]]],
    [".metadata.annotations.[]", undefined],
    [".metadata.annotations.[]?", []],
    [".metadata.name.x", undefined],
    ['.metadata.annotations["a"] // "none"', ["none"]],
    [".metadata.ownerReferences[] | .name // .kind", ["j", "Other"]],
    [".spec.replicas * 2 + 1 - 4 / 2", [5]],
    [".spec.replicas % 2 == 1 or false", [true]],
    ['.metadata.name | startswith("web") and endswith("-0")', [true]],
    ['.metadata.labels | has("app") | not', [false]],
    [".metadata.labels | keys", [["app", "example.com/tier"]]],
    ["[.spec.containers[].name] | add", ["ab"]],
    ["[1, [2]] < [1, [3]]", [true]],
    ['1 < 2, null < false, "b" > "a", -1 >= 0', [true, true, true, false]],
    ['"12" | tonumber', [12]],
    ['"x" | tonumber', undefined],
    ["1 / 0", undefined],
    [".a.b # a comment", []],
  ];
  for (const [text, expected] of cases) {
    it(`${text} yields ${JSON.stringify(expected)}`.slice(0, 90), () => {
      assert.deepEqual(execute(text), expected);
    });
  }

  it("reject invalid queries, and unsupported parts of jq", () => {
    const faults: Readonly<Record<string, string>> = {
      "": "unexpected end",
      ".a |": "unexpected end",
      ".a ]": 'unexpected "]"',
      ".a[1:2]": "slices are not supported",
      ". as $x | $x": 'unexpected "as"',
      "def f: 1; f": "unexpected character at position 8",
      input: "function not supported: input/0",
      constructor: "function not supported: constructor/0",
      'test("a")': "function not supported: test/1",
      "{a: 1}": 'unexpected "{"',
    };
    const found = Object.keys(faults).map((text) => [text, messageOf(() => new Query(text))]);
    assert.deepEqual(Object.fromEntries(found), faults);
  });

  it("are limited in length, depth and steps", () => {
    assert.match(
      messageOf(() => new Query(".a".repeat(3_000))),
      /too long/,
    );
    assert.match(
      messageOf(() => new Query("(".repeat(100) + "1" + ")".repeat(100))),
      /too deeply/,
    );
    const all = Array.from({ length: 1_000 }, (_, index) => index);
    assert.equal(new Query("[.[] + .[]] | length").execute(all), undefined);
    assert.deepEqual(new Query("[.[] + 1] | length").execute(all), [1_000]);
  });

  it("do not access inherited properties", () => {
    assert.deepEqual(new Query(".constructor, .toString, .__proto__").execute({}), []);
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
