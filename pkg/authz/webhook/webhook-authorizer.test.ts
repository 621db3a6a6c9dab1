import assert from "node:assert/strict";
import { systemClock } from "#base";
import { kubernetes } from "#meta";
import {
  type AuthorizationAttributes,
  type Decision,
  type RequestInfo,
  WebhookFault,
} from "#request";
import { conditionCompiler } from "./match-conditions.ts";
import { alwaysAllow, unionAuthorizer } from "../modes.ts";
import { WebhookAuthorizer, type WebhookAuthorizerOptions } from "./webhook-authorizer.ts";

const request: RequestInfo = {
  isResource: true,
  path: "/api/v1/namespaces/ns/pods",
  verb: "list",
  apiPrefix: "api",
  group: "",
  version: "v1",
  namespace: "ns",
  resource: "pods",
  subresource: "",
  name: "",
  rest: [],
};
const user = { name: "u", uid: "1", groups: ["g"], extra: new Map([["k", ["v"]]]) };
const term = { key: "spec.nodeName", operator: "In", values: ["n1"] } as const;

describe("WebhookAuthorizer", () => {
  let heard: any[];
  let status: object | Error;
  let now: number;

  beforeEach(() => {
    heard = [];
    status = { allowed: true, reason: "because" };
    now = 0;
  });

  function authorizer(options: Partial<WebhookAuthorizerOptions> = {}): WebhookAuthorizer {
    return new WebhookAuthorizer({
      client: {
        post: async (body) => {
          heard.push(body);
          if (status instanceof Error) throw status;
          return { status };
        },
        send: async () => {},
        close: () => {},
      },
      clock: { ...systemClock, monotonic: () => now },
      domain: kubernetes,
      version: "v1",
      authorizedMs: 100,
      unauthorizedMs: 10,
      onFailure: "no-opinion",
      conditions: [],
      report: () => {},
      ...options,
    });
  }
  const ask = (
    own: WebhookAuthorizer,
    more: Partial<AuthorizationAttributes> = {},
  ): Promise<Decision> => own.authorize({ user, request, ...more });

  it("sends a SubjectAccessReview with parsed selectors", async () => {
    await ask(authorizer(), { fieldTerms: [term] });
    assert.deepEqual(heard, [
      {
        kind: "SubjectAccessReview",
        apiVersion: "authorization.k8s.io/v1",
        metadata: { creationTimestamp: null },
        spec: {
          resourceAttributes: {
            namespace: "ns",
            verb: "list",
            version: "v1",
            resource: "pods",
            fieldSelector: { requirements: [term] },
          },
          user: "u",
          groups: ["g"],
          extra: { k: ["v"] },
          uid: "1",
        },
        status: { allowed: false },
      },
    ]);
  });

  it("sends the groups as `group` in v1beta1", async () => {
    const path = { ...request, isResource: false, path: "/x", verb: "get" };
    await ask(authorizer({ version: "v1beta1" }), { request: path });
    const { apiVersion, spec } = heard[0];
    assert.equal(apiVersion, "authorization.k8s.io/v1beta1");
    const { group, groups, nonResourceAttributes } = spec;
    assert.deepEqual([group, groups], [["g"], undefined]);
    assert.deepEqual(nonResourceAttributes, { path: "/x", verb: "get" });
  });

  const both = "webhook subject access review returned both allow and deny response";
  const answers: readonly (readonly [unknown, Decision])[] = [
    [
      { allowed: true, reason: "r" },
      { verdict: "allow", reason: "r" },
    ],
    [
      { allowed: false, reason: "r" },
      { verdict: "no-opinion", reason: "r" },
    ],
    [{ denied: true }, { verdict: "deny", reason: "" }],
    [
      { allowed: true, denied: true },
      { verdict: "deny", reason: "", error: both },
    ],
    [undefined, { verdict: "no-opinion", reason: "" }],
  ];
  for (const [answer, decision] of answers) {
    it(`interprets ${JSON.stringify(answer)} as ${decision.verdict}`, async () => {
      status = answer as object;
      assert.deepEqual(await ask(authorizer()), decision);
    });
  }

  const typed = { kind: "SubjectAccessReview", apiVersion: "authorization.k8s.io/v1" };
  const hostile: readonly unknown[] = [
    null,
    [],
    5,
    "x",
    { ...typed, kind: "TokenReview" },
    { ...typed, apiVersion: "authorization.k8s.io/v1beta1" },
    { kind: 5 },
    { status: "denied" },
    { status: [] },
    { status: { allowed: "true" } },
    { status: { allowed: true, denied: "true" } },
    { status: { allowed: true, reason: 5 } },
    { status: { allowed: true, evaluationError: {} } },
  ];
  for (const answer of hostile) {
    it(`applies the failure policy to ${JSON.stringify(answer)}`, async () => {
      const client = { post: async () => answer, send: async () => {}, close: () => {} };
      const decision = await ask(authorizer({ client, onFailure: "deny" }));
      assert.equal(decision.verdict, "deny");
      assert.match(decision.error ?? "", /^json: cannot unmarshal|^no kind /);
      assert.equal((await ask(authorizer({ client }))).verdict, "no-opinion");
    });
  }

  it("caches allowed responses longer than others", async () => {
    const own = authorizer();
    await Promise.all([ask(own), ask(own)]);
    now = 99;
    await ask(own);
    assert.equal(heard.length, 1);
    status = { allowed: false };
    now = 100;
    await ask(own);
    now = 109;
    assert.equal((await ask(own)).verdict, "no-opinion");
    assert.equal(heard.length, 2);
    now = 110;
    await ask(own);
    await ask(own, { user: { ...user, groups: [] } });
    assert.equal(heard.length, 4);
  });

  it("does not cache large reviews, and limits the number of cached decisions", async () => {
    const own = authorizer();
    const long = { request: { ...request, name: "n".repeat(10_000) } };
    await ask(own, long);
    await ask(own, long);
    assert.equal(heard.length, 2);
    await ask(own);
    for (let n = 0; n < 8192; n++) await ask(own, { request: { ...request, name: `${n}` } });
    heard = [];
    await ask(own);
    assert.equal(heard.length, 1);
  });

  it("has no opinion or denies on failure, and caches nothing", async () => {
    status = new WebhookFault("down", undefined, true);
    const own = authorizer();
    assert.deepEqual(await ask(own), { verdict: "no-opinion", reason: "", error: "down" });
    status = { allowed: true };
    assert.equal((await ask(own)).verdict, "allow");
    status = new WebhookFault("down", undefined, true);
    const strict = authorizer({ onFailure: "deny" });
    assert.deepEqual(await ask(strict), { verdict: "deny", reason: "", error: "down" });
  });

  describe("with matchConditions", () => {
    const compiler = conditionCompiler();
    const programs = (...texts: readonly string[]) =>
      texts.map((text) => compiler(text).program ?? assert.fail(text));
    const cases: readonly (readonly [readonly string[], boolean | string])[] = [
      [["has(request.resourceAttributes)", "request.resourceAttributes.namespace == 'ns'"], true],
      [["request.user.startsWith('system:')"], false],
      [["!('g' in request.groups)"], false],
      [["request.extra['k'] == ['v'] && request.resourceAttributes.subresource == ''"], true],
      [["request.resourceAttributes.fieldSelector.requirements[0].values[0] == 'n1'"], true],
      [["request.nonResourceAttributes.path == '/x'"], "cel evaluation error: "],
      [["request.nonResourceAttributes.path == '/x'", "false"], false],
    ];
    for (const [texts, expected] of cases) {
      it(`${texts.join(" and ")}: ${expected}`, async () => {
        const own = authorizer({ conditions: programs(...texts), onFailure: "deny" });
        const { verdict, error = "" } = await ask(own, { fieldTerms: [term] });
        assert.equal(heard.length === 1, expected === true);
        if (typeof expected === "string") {
          assert.equal(verdict, "deny");
          assert.ok(error.startsWith(expected), error);
        } else assert.equal(error, "");
      });
    }

    it("rejects invalid ones", () => {
      assert.match(
        compiler("request.nothing").program ? "" : fault("request.nothing"),
        /undefined/,
      );
      assert.equal(fault("request.user"), "must evaluate to bool");
    });

    function fault(text: string): string {
      const compiled = compiler(text);
      return compiled.program === undefined ? compiled.fault : assert.fail(text);
    }
  });

  it("is called in its place among authorizers", async () => {
    const says = (decision: Decision) => ({ authorize: async () => decision });
    status = new WebhookFault("down", undefined, true);
    const last = says({ verdict: "allow", reason: "last" });
    const passing = unionAuthorizer([authorizer(), last]);
    assert.deepEqual(await passing.authorize({ user, request }), {
      verdict: "allow",
      reason: "last",
    });
    const nobody = unionAuthorizer([authorizer(), says({ verdict: "no-opinion", reason: "x" })]);
    assert.deepEqual(await nobody.authorize({ user, request }), {
      verdict: "no-opinion",
      reason: "x",
      error: "down",
    });
    const { rules, incomplete, error } = nobody.rules!(user, "ns");
    assert.deepEqual([rules, incomplete], [[], true]);
    assert.equal(error, "webhook authorizer does not support user rule resolution");
  });

  it("is not called if another authorizer decides", async () => {
    const says = (decision: Decision) => ({ authorize: async () => decision });
    status = new WebhookFault("down", undefined, true);
    const refusal: Decision = { verdict: "deny", reason: "never", error: "own" };
    const row = unionAuthorizer([authorizer(), says(refusal), alwaysAllow]);
    assert.deepEqual(await row.authorize({ user, request }), refusal);
    const { rules, incomplete } = unionAuthorizer([alwaysAllow]).rules!(user, "ns");
    assert.deepEqual([rules.length, incomplete], [2, false]);
  });
});
