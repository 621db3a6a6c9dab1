import assert from "node:assert/strict";
import type { PolicyRule } from "#request";
import { listRules, uncoveredRules } from "./policy-rules.ts";

function rule(verbs: string, groups: string, resources: string, names = ""): PolicyRule {
  const words = (text: string) => text.split(" ").map((word) => (word === "core" ? "" : word));
  const resourceNames = names === "" ? {} : { resourceNames: words(names) };
  return {
    verbs: words(verbs),
    apiGroups: words(groups),
    resources: words(resources),
    ...resourceNames,
  };
}

describe("uncoveredRules", () => {
  const held = [
    rule("get list", "core", "pods"),
    rule("get", "core", "configmaps", "a b"),
    rule("*", "batch", "jobs"),
    rule("update", "apps", "*/scale"),
    { verbs: ["get"], nonResourceURLs: ["/healthz/*"] },
  ];
  const cases: readonly (readonly [string, PolicyRule, string])[] = [
    ["the same", rule("get", "core", "pods"), ""],
    ["a name of two", rule("get", "core", "configmaps", "b"), ""],
    ["any verb", rule("*", "batch", "jobs"), ""],
    ["a subresource of any", rule("update", "apps", "deployments/scale"), ""],
    ["a path below", { verbs: ["get"], nonResourceURLs: ["/healthz/x"] }, ""],
    [
      "a verb too many",
      rule("get delete", "core", "pods"),
      '{APIGroups:[""], Resources:["pods"], Verbs:["delete"]}',
    ],
    [
      "all names instead of two",
      rule("get", "core", "configmaps"),
      '{APIGroups:[""], Resources:["configmaps"], Verbs:["get"]}',
    ],
    [
      "a name of three",
      rule("get", "core", "configmaps", "a z"),
      '{APIGroups:[""], Resources:["configmaps"], ResourceNames:["z"], Verbs:["get"]}',
    ],
    [
      "several of several groups",
      rule("get watch", "core apps", "pods"),
      [
        '{APIGroups:[""], Resources:["pods"], Verbs:["watch"]}',
        '{APIGroups:["apps"], Resources:["pods"], Verbs:["get" "watch"]}',
      ].join("\n"),
    ],
    ["all paths", { verbs: ["*"], nonResourceURLs: ["*"] }, '{NonResourceURLs:["*"], Verbs:["*"]}'],
  ];
  it("checks rules of a billion combinations as a whole", () => {
    const words = (count: number) => Array.from({ length: count }, (_, n) => `w${n}`).join(" ");
    const many = rule(words(1000), words(1000), words(1000));
    assert.deepEqual(uncoveredRules(held, [many]), [many]);
    assert.deepEqual(uncoveredRules([...held, rule("*", "*", "*")], [many]), []);
    const bare = { ...many, verbs: null as unknown as string[] };
    assert.deepEqual(uncoveredRules(held, [bare]), []);
    const small = rule("list", "core", "pods");
    assert.deepEqual(uncoveredRules(held, [many, small]), [many]);
  });

  for (const [what, wanted, missing] of cases) {
    it(`${missing === "" ? "covered" : "not covered"}: ${what}`, () => {
      assert.equal(listRules(uncoveredRules(held, [wanted])), missing);
    });
  }
});
