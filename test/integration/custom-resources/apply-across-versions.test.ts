/**
 * Server-side apply by managers in several versions of a kind. Each entry of managedFields is compared in
 * its own version, into which strategy None converts by renaming the apiVersion alone. The expectations
 * are the answers of kube-apiserver 1.34.9.
 */
import assert from "node:assert/strict";
import { type RunningServer, startServer } from "../../../cmd/keelson/index.ts";

const group = "versions.example.com";
const object = (properties: object) => ({ type: "object", properties });
const text = { type: "string" };

const schemas: Readonly<Record<string, readonly [v1: object, v2: object]>> = {
  sames: [
    object({ m: object({ k: text }), n: { type: "integer" } }),
    object({ m: object({ k: text }), n: { type: "integer" } }),
  ],
  others: [object({ a: text, c: text }), object({ b: text, c: text })],
};

/** Manager, version, spec; the code, and the message or the new spec. */
type Step = readonly [
  manager: string,
  version: string,
  spec: object,
  code: number,
  result: unknown,
];

const notAnObject = (plural: string, field: string, type: string): string =>
  `${plural}.${group} "x" is invalid: spec.${field}: Invalid value: "null": spec.${field} in body ` +
  `must be of type ${type}: "null"`;
const undeclared = "field not declared in schema";

function customStories(): readonly (readonly [title: string, plural: string, steps: Step[]])[] {
  const pairs = ["v1", "v2"].flatMap((a) => ["v1", "v2"].map((b) => [a, b] as const));
  return [
    ...pairs.map(([first, second]): readonly [string, string, Step[]] => [
      `validates a null that ${second} applies beside ${first}`,
      "sames",
      [
        ["a", first, { n: 1 }, 201, { n: 1 }],
        ["b", second, { m: null }, 422, notAnObject("sames", "m", "object")],
        ["b", second, { m: { k: "x" } }, 200, { m: { k: "x" }, n: 1 }],
        ["b", second, { m: { k: null } }, 422, notAnObject("sames", "m.k", "string")],
        ["b", first, { m: { k: "y" } }, 200, { m: { k: "y" }, n: 1 }],
        ["b", second, {}, 200, { n: 1 }],
      ],
    ]),
    [
      "refuses fields that the version of another manager does not specify",
      "others",
      [
        ["a", "v1", { a: "1" }, 201, { a: "1" }],
        ["b", "v2", { b: "1" }, 500, `failed to convert new object: .spec.b: ${undeclared}`],
        [
          "a",
          "v2",
          { b: "1" },
          500,
          "failed to prune fields: failed to convert merged object to last applied version: " +
            `.spec.b: ${undeclared}`,
        ],
        ["b", "v2", { c: "1" }, 200, { c: "1" }],
        [
          "b",
          "v1",
          { a: "2" },
          500,
          "failed to prune fields: failed to convert merged object to last applied version: " +
            `.spec.a: ${undeclared}`,
        ],
      ],
    ],
  ];
}

describe("server-side apply across versions", () => {
  let server: RunningServer;
  before(async () => {
    server = await startServer({ controllers: false });
    for (const [plural, [v1, v2]] of Object.entries(schemas)) await define(plural, v1, v2);
  });
  after(() => server.close());

  async function send(method: string, path: string, body: unknown, type = "application/json") {
    const headers = { "content-type": type };
    const response = await server.fetch(path, { method, headers, body: JSON.stringify(body) });
    return { code: response.status, body: (await response.json()) as any };
  }

  async function define(plural: string, ...specs: readonly object[]): Promise<void> {
    const versions = specs.map((spec, index) => ({
      name: `v${index + 1}`,
      served: true,
      storage: index === 0,
      schema: { openAPIV3Schema: object({ spec }) },
    }));
    const names = { plural, kind: plural };
    const made = await send("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
      metadata: { name: `${plural}.${group}` },
      spec: { group, scope: "Namespaced", names, versions },
    });
    assert.equal(made.code, 201, made.body.message);
    const deadline = Date.now() + 30_000;
    for (const { name } of versions) {
      while ((await server.fetch(`/apis/${group}/${name}/${plural}`)).status !== 200) {
        assert.ok(Date.now() < deadline, "the definition is not served");
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    }
  }

  for (const [index, [title, plural, steps]] of customStories().entries()) {
    it(title, async () => {
      for (const [manager, version, spec, code, result] of steps) {
        const path = `/apis/${group}/${version}/namespaces/ns${index}/${plural}/x`;
        await send("POST", "/api/v1/namespaces", { metadata: { name: `ns${index}` } });
        const body = {
          apiVersion: `${group}/${version}`,
          kind: plural,
          metadata: { name: "x" },
          spec,
        };
        const type = "application/apply-patch+yaml";
        const answer = await send("PATCH", `${path}?fieldManager=${manager}`, body, type);
        assert.equal(answer.code, code, answer.body.message);
        const found = code < 300 ? answer.body.spec : answer.body.message;
        assert.deepEqual(found, result);
      }
    });
  }

  /** Target that an autoscaler has after its manager applied one version, then the other. */
  const targets: readonly (readonly [first: number | "none", second: number | "none", number])[] = [
    [70, 60, 60],
    [70, "none", 70],
    ["none", 60, 60],
    ["none", "none", 80],
  ];
  for (const [first, second] of [
    ["v1", "v2"],
    ["v2", "v1"],
  ] as const) {
    for (const [before, after, expected] of targets) {
      const title = `${before} in ${first}, ${after} in ${second}`;
      it(`gives an autoscaler ${expected}: ${title}`, async () => {
        const name = `${first}-${before}-${after}`;
        const scaleTargetRef = { apiVersion: "apps/v1", kind: "Deployment", name: "x" };
        const specOf = (version: string, target: number | "none"): object => {
          const usual = { scaleTargetRef, maxReplicas: 3 };
          if (target === "none") return usual;
          if (version === "v1") return { ...usual, targetCPUUtilizationPercentage: target };
          const utilization = { type: "Utilization", averageUtilization: target };
          const resource = { name: "cpu", target: utilization };
          return { ...usual, metrics: [{ type: "Resource", resource }] };
        };
        const path = (version: string) =>
          `/apis/autoscaling/${version}/namespaces/default/horizontalpodautoscalers/${name}`;
        for (const [version, target] of [
          [first, before],
          [second, after],
        ] as const) {
          const body = {
            apiVersion: `autoscaling/${version}`,
            kind: "HorizontalPodAutoscaler",
            metadata: { name },
            spec: specOf(version, target),
          };
          const type = "application/apply-patch+yaml";
          const answer = await send("PATCH", `${path(version)}?fieldManager=m`, body, type);
          assert.ok(answer.code < 300, answer.body.message);
        }
        const read = await (await server.fetch(path("v1"))).json();
        assert.equal((read as any).spec.targetCPUUtilizationPercentage, expected);
      });
    }
  }
});
