import assert from "node:assert/strict";
import { ConfigurationFault, domainOf } from "#meta";
import { parseRequestInfo, parseTarget, type User } from "#request";
import { policyEvaluator } from "./policy.ts";
import { readPolicy } from "./policy-file.ts";

const domain = domainOf();

function policy(rules: string, more = ""): string {
  return `apiVersion: audit.k8s.io/v1\nkind: Policy\n${more}rules:\n${rules}`;
}

function userOf(name: string, ...groups: string[]): User {
  return { name, uid: "", groups, extra: new Map() };
}

describe("audit policies", () => {
  const judge = policyEvaluator(
    readPolicy(
      policy(
        `
- {level: None, users: [kubelet], verbs: [get]}
- {level: None, nonResourceURLs: ["/livez*", /version]}
- {level: Metadata, userGroups: [auditors], omitStages: [RequestReceived]}
- level: Request
  namespaces: ["", kube-system]
  resources: [{group: apps, resources: [deployments], resourceNames: [dns]}, {group: batch}]
- {level: RequestResponse, omitManagedFields: false, resources: [{resources: ["pods/*"]}]}
- {level: Metadata, resources: [{resources: ["*/scale"], group: apps}]}
- {level: Request, resources: [{resources: ["*"], group: policy}]}
- {level: Metadata, nonResourceURLs: ["*"]}
`,
        "omitStages: [Panic]\nomitManagedFields: true\n",
      ),
      domain,
    ),
  );

  const nobody = userOf("nobody");
  const table: readonly (readonly [request: string, level: string, user?: User])[] = [
    ["GET /api/v1/nodes", "None", userOf("kubelet")],
    ["PUT /api/v1/nodes/a", "None"],
    ["GET /livez/ping", "None"],
    ["GET /version", "None"],
    ["GET /version/", "Metadata"],
    ["GET /api/v1/nodes", "Metadata", userOf("eve", "staff", "auditors")],
    ["GET /apis/apps/v1/namespaces/kube-system/deployments/dns", "Request"],
    ["GET /apis/apps/v1/namespaces/kube-system/deployments/web", "None"],
    ["GET /apis/apps/v1/namespaces/default/deployments/dns", "None"],
    ["GET /apis/batch/v1/jobs", "Request"],
    ["GET /api/v1/namespaces/n/pods/p/log", "RequestResponse"],
    ["GET /api/v1/pods", "RequestResponse"],
    ["GET /api/v1/podtemplates", "None"],
    ["GET /apis/apps/v1/namespaces/n/replicasets/r/scale", "Metadata"],
    ["GET /apis/policy/v1/namespaces/n/poddisruptionbudgets/p/status", "Request"],
    ["GET /openapi/v2", "Metadata"],
  ];
  for (const [request, level, user = nobody] of table) {
    it(`assign level ${level} to ${request} of ${user.name}`, () => {
      const [method, url] = request.split(" ") as [string, string];
      assert.equal(judge(parseRequestInfo(method, parseTarget(url)!), user).level, level);
    });
  }

  it("combine omitted stages; a rule overrides omitManagedFields of the policy", () => {
    const of = (url: string, user: User) => judge(parseRequestInfo("GET", parseTarget(url)!), user);
    const listed = of("/api/v1/nodes", userOf("eve", "auditors"));
    assert.deepEqual([...listed.omittedStages], ["Panic", "RequestReceived"]);
    assert.equal(listed.omitsManagedFields, true);
    assert.equal(of("/api/v1/pods", nobody).omitsManagedFields, false);
    assert.equal(of("/api/v1/nodes", userOf("x")).level, "None");
  });

  for (const [what, text, message] of [
    ["no YAML", "a: [", /^yaml: /],
    ["another version", "apiVersion: audit.k8s.io/v1beta1\nkind: Policy", /found .*v1beta1/],
    ["no version", "rules: []", /found apiVersion none and kind none/],
    ["no rules", policy("  []"), /has no rules/],
    ["an unknown field", policy("- {level: None, resource: []}"), /unknown.*rules\[0\].resource/],
    ["a field twice", policy("- {level: None, level: None}"), /key "level" already set/],
    ["a wrong type", policy("- {level: [1]}"), /cannot unmarshal array/],
    ["no level", policy("- {}"), /^rules\[0\].level: Required value/],
    ["a wrong level", policy("- {level: All}"), /level: Unsupported value: "All": supported/],
    ["a wrong stage", policy("- {level: None, omitStages: [End]}"), /s\[0\].*allowed stages/],
    ["a relative path", policy("- {level: None, nonResourceURLs: [x]}"), /must? begin with a '\/'/],
    ["an inner asterisk", policy("- {level: None, nonResourceURLs: [/a*b]}"), /final character/],
    ["a wrong group", policy("- {level: None, resources: [{group: A/b}]}"), /group: Invalid/],
    [
      "names of everything",
      policy("- {level: None, resources: [{resourceNames: [a]}]}"),
      /requires at least one resource/,
    ],
    [
      "both kinds of paths",
      policy("- {level: None, namespaces: [a], nonResourceURLs: [/a]}"),
      /cannot apply to both/,
    ],
  ] as const) {
    it(`with ${what} are rejected`, () => {
      assert.throws(
        () => readPolicy(text, domain),
        (error: unknown) => error instanceof ConfigurationFault && message.test(error.message),
      );
    });
  }
});
