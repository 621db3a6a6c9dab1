import assert from "node:assert/strict";
import { ConfigurationFault, kubernetes } from "#meta";
import { parseAuthorizationConfiguration } from "./configuration.ts";

const head = "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\n";
const webhook = {
  timeout: "3s",
  authorizedTTL: "30s",
  subjectAccessReviewVersion: "v1",
  matchConditionSubjectAccessReviewVersion: "v1",
  failurePolicy: "Deny",
  connectionInfo: { type: "KubeConfigFile", kubeConfigFile: "/hook" },
  matchConditions: [{ expression: "request.user != 'u'" }],
};
const list = (...authorizers: readonly object[]) =>
  `${head}authorizers: ${JSON.stringify(authorizers)}\n`;
const hook = (changes: object = {}) => ({
  type: "Webhook",
  name: "h",
  webhook: { ...webhook, ...changes },
});
const parse = (text: string) => parseAuthorizationConfiguration(text, kubernetes);

describe("AuthorizationConfigurations", () => {
  it("are parsed to authorizers in their order", () => {
    const [first, second, third] = parse(
      list({ type: "Node", name: "node" }, hook(), { type: "RBAC", name: "rbac" }),
    );
    assert.deepEqual([first, third?.type], [{ type: "Node", name: "node" }, "RBAC"]);
    assert.ok(second?.type === "Webhook");
    const { conditions, ...settings } = second.webhook;
    assert.equal(conditions.length, 1);
    assert.deepEqual(settings, {
      kubeconfigFile: "/hook",
      version: "v1",
      timeoutMs: 3000,
      authorizedMs: 30_000,
      unauthorizedMs: 30_000,
      onFailure: "deny",
    });
  });

  it("have a TTL of 0 if caching is disabled", () => {
    const [own] = parse(list(hook({ cacheAuthorizedRequests: false })));
    assert.ok(own?.type === "Webhook");
    assert.deepEqual([own.webhook.authorizedMs, own.webhook.unauthorizedMs], [0, 30_000]);
  });

  const rbac = { type: "RBAC", name: "rbac" };
  const long = Array.from({ length: 65 }, (_, n) => ({ expression: `${n} == ${n}` }));
  const faults: readonly (readonly [string, RegExp])[] = [
    ["a: [", /^yaml: /],
    ["", /^expected apiVersion .*k8s.io\/v1 and kind AuthorizationConfiguration, found/],
    [`${head}authorisers: []`, /^strict decoding error: unknown field "authorisers"$/],
    [`${head}authorizers: 1`, /^json: cannot unmarshal number into Go struct field /],
    [list(), /^authorizers: Required value: at least one authorization mode must be defined$/],
    [list({ type: "Other", name: "a" }), /^authorizers\[0\].type: Unsupported value: "Other": /],
    [list(rbac, { type: "RBAC", name: "b" }), /authorizers\[1\].type: Duplicate value: "RBAC"$/],
    [list(rbac, hook(), hook()), /^authorizers\[2\].name: Duplicate value: "h"$/],
    [list({ type: "RBAC", name: "A" }), /Invalid value: "A": authorizer name is invalid: /],
    [list({ type: "RBAC" }), /^authorizers\[0\].name: Required value$/],
    [list({ type: "Webhook", name: "h" }), /webhook: Required value: required when type=Webhook$/],
    [list({ ...rbac, webhook }), /may only be specified when type=Webhook$/],
    [list(hook({ timeout: undefined })), /webhook.timeout: Required value$/],
    [list(hook({ timeout: "31s" })), /timeout: Invalid value: "31s": must be > 0s and <= 30s$/],
    [list(hook({ timeout: "3" })), /^time: missing unit in duration "3"$/],
    [list(hook({ authorizedTTL: "-1s" })), /authorizedTTL: Invalid value: "-1s": must be > 0s$/],
    [list(hook({ subjectAccessReviewVersion: "v2" })), /Unsupported value: "v2": supported/],
    [
      list(hook({ matchConditionSubjectAccessReviewVersion: undefined })),
      /matchConditionSubjectAccessReviewVersion: Required value$/,
    ],
    [list(hook({ failurePolicy: "Ignore" })), /supported values: "Deny", "NoOpinion"$/],
    [list(hook({ connectionInfo: { type: "InClusterConfig" } })), /connectionInfo.type: Unsupp/],
    [
      list(hook({ connectionInfo: { type: "KubeConfigFile", kubeConfigFile: "hook" } })),
      /kubeConfigFile: Invalid value: "hook": must be an absolute path$/,
    ],
    [list(hook({ matchConditions: [{ expression: "" }] })), /expression: Required value$/],
    [list(hook({ matchConditions: [{ expression: "request" }] })), /must evaluate to bool$/],
    [list(hook({ matchConditions: [{ expression: "x" }] })), /compilation failed: ERROR: /],
    [list(hook({ matchConditions: long })), /Too many: 65: must have at most 64 items$/],
  ];
  for (const [text, message] of faults) {
    it(`are rejected: ${String(message)}`, () => {
      assert.throws(
        () => parse(text),
        (error: unknown) => {
          assert.ok(error instanceof ConfigurationFault);
          assert.match(error.message, message);
          return true;
        },
      );
    });
  }
});
