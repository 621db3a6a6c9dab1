import assert from "node:assert/strict";
import { testRegistry, type TestRegistry } from "../testing.ts";

const deployments = "apps/v1/deployments/ns";

/** Warnings of a dry run, which are the errors of `fieldValidation=Strict`. */
async function warnings(
  api: TestRegistry,
  text: string,
  format: "json" | "yaml" = "json",
): Promise<readonly string[]> {
  const response = await api.registry.create(
    api.request(deployments),
    { bytes: Buffer.from(text), format },
    { dryRun: true, fieldManager: "", fieldValidation: "Warn" },
  );
  return response.warnings;
}

const required =
  '"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":' +
  '{"containers":[{"name":"c","image":"i"}]}}';

describe("strict decoding", () => {
  let api: TestRegistry;
  beforeEach(async () => {
    api = await testRegistry();
  });

  const cases: readonly (readonly [
    title: string,
    spec: string,
    root: string,
    expected: string[],
  ])[] = [
    [
      "reports unknown and duplicate fields in document order",
      '"unknownField":"foo","replicas":1,"replicas":2,',
      "",
      ['unknown field "spec.unknownField"', 'duplicate field "spec.replicas"'],
    ],
    [
      "reports a duplicate field before a later unknown one",
      '"replicas":1,"replicas":2,"unknownField":"foo",',
      "",
      ['duplicate field "spec.replicas"', 'unknown field "spec.unknownField"'],
    ],
    [
      "reports an unknown field once, and nothing below it",
      '"x":{"a":1,"a":2},"x":[{"b":1,"b":2}],"replicas":1,"replicas":2,',
      "",
      ['unknown field "spec.x"', 'duplicate field "spec.replicas"'],
    ],
    [
      "reports no fields below a type with an UnmarshalJSON method",
      '"replicas":1,"replicas":2,"strategy":{"rollingUpdate":{"maxSurge":1,"maxSurge":2}},',
      ',"y":1',
      [
        'duplicate field "spec.replicas"',
        'duplicate field "spec.strategy.rollingUpdate.maxSurge"',
        'unknown field "y"',
      ],
    ],
    [
      "accepts kind and apiVersion only at the root",
      '"kind":"a","kind":"b",',
      ',"kind":"Deployment"',
      ['unknown field "spec.kind"', 'duplicate field "kind"'],
    ],
    [
      "compares keys after unescaping, and keeps the order of numeric keys",
      '"zz":1,"10":1,"2":1,"repl\\u0069cas":1,"replicas":2,',
      "",
      [
        'unknown field "spec.zz"',
        'unknown field "spec.10"',
        'unknown field "spec.2"',
        'duplicate field "spec.replicas"',
      ],
    ],
  ];
  for (const [title, spec, root, expected] of cases) {
    it(title, async () => {
      const text =
        `{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"d"},` +
        `"spec":{${spec}${required}}${root}}`;
      assert.deepEqual(await warnings(api, text), expected);
    });
  }

  it("reports duplicate keys of YAML first, then unknown fields by sorted key", async () => {
    const text = `metadata: {name: d}\nspec: {z: 1, b: {c: 1}, replicas: 1, replicas: 2, ${required}}\nm: 1`;
    assert.deepEqual(await warnings(api, text, "yaml"), [
      'line 2: key "replicas" already set in map',
      'unknown field "m"',
      'unknown field "spec.b"',
      'unknown field "spec.z"',
    ]);
  });

  it("reports unknown fields of a merge patch by sorted key", async () => {
    await api.post("v1/configmaps/ns", { metadata: { name: "a" } });
    const response = await api.patch("v1/configmaps/ns/a", {
      z: 1,
      metadata: { y: 1, x: 1 },
      c: 1,
    });
    assert.deepEqual(response.warnings, [
      'unknown field "c"',
      'unknown field "metadata.x"',
      'unknown field "metadata.y"',
      'unknown field "z"',
    ]);
  });
});
