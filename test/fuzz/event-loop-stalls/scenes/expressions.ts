/** CEL rules of a definition and of admission policies over large objects, up to the limits of cost. */
import { customResourceDefinition } from "../../../../pkg/crd/testing.ts";
import { type BodyClass, dry, json, many, numbered } from "../build-body.ts";
import { post, type Scene, serving, untilServed } from "./scene.ts";

const definitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const core = "/api/v1/namespaces/default";
const admission = "/apis/admissionregistration.k8s.io/v1";

const words = (maxItems: number, ...rules: string[]): object => ({
  type: "array",
  maxItems,
  items: { type: "string", maxLength: 20 },
  "x-kubernetes-validations": rules.map((rule) => ({ rule })),
});

const ruled = customResourceDefinition(
  { plural: "ruleds", kind: "Ruled" },
  {
    schema: {
      type: "object",
      properties: {
        spec: {
          type: "object",
          properties: {
            flat: words(25_000, "self.all(x, x != 'zz')", "self.exists_one(x, x == 'w1')"),
            nested: words(780, "self.all(x, self.exists(y, x == y))"),
            matched: words(20_000, "self.all(x, x.matches('^[a-z]+[0-9]*$'))"),
            map: {
              type: "object",
              maxProperties: 24_000,
              additionalProperties: { type: "string", maxLength: 20 },
              "x-kubernetes-validations": [{ rule: "self.all(k, self[k] != 'zz')" }],
            },
            items: {
              type: "array",
              maxItems: 16_000,
              items: {
                type: "object",
                properties: { low: { type: "integer" }, high: { type: "integer" } },
                "x-kubernetes-validations": [{ rule: "self.low <= self.high" }],
              },
            },
          },
        },
      },
    },
  },
);

const policies = [
  ["flat", "object.data.all(key, object.data[key] != 'zz')"],
  ["mapped", "size(object.data.map(key, key + object.data[key])) > 0"],
  ["filtered", "object.data.filter(key, key.startsWith('k1')).all(k, k.matches('^k[0-9]+$'))"],
] as const;

function ruledObject(name: string, spec: object): BodyClass {
  const metadata = { name: "a" };
  const object = { apiVersion: "example.com/v1", kind: "Ruled", metadata, spec };
  return {
    name: `CEL: ${name}`,
    path: `/apis/example.com/v1/namespaces/default/ruleds${dry}`,
    type: json,
    body: Buffer.from(JSON.stringify(object)),
  };
}

const wordsOf = (count: number): string[] => many(count, (i) => `w${i}`);

export const expressions: Scene = {
  name: "expressions",
  async prepare(start) {
    const server = await start(serving);
    await post(server, definitionsPath, ruled);
    await untilServed(server, "/apis/example.com/v1");
    for (const [name, expression] of policies) {
      await post(server, `${admission}/validatingadmissionpolicies`, {
        apiVersion: "admissionregistration.k8s.io/v1",
        kind: "ValidatingAdmissionPolicy",
        metadata: { name },
        spec: {
          matchConstraints: {
            resourceRules: [
              {
                apiGroups: [""],
                apiVersions: ["v1"],
                resources: ["configmaps"],
                operations: ["CREATE"],
              },
            ],
            objectSelector: { matchLabels: { policy: name } },
          },
          validations: [{ expression }],
        },
      });
      await post(server, `${admission}/validatingadmissionpolicybindings`, {
        apiVersion: "admissionregistration.k8s.io/v1",
        kind: "ValidatingAdmissionPolicyBinding",
        metadata: { name },
        spec: { policyName: name, validationActions: ["Deny"] },
      });
    }
    return { server };
  },
  requests: [
    ruledObject("all and exists_one over 25,000 texts", { flat: wordsOf(25_000) }),
    ruledObject("exists within all over 780 texts", { nested: wordsOf(780) }),
    ruledObject("a regular expression on 20,000 texts", { matched: wordsOf(20_000) }),
    ruledObject("all over a map of 24,000 keys", { map: numbered(24_000) }),
    ruledObject("a rule on each of 16,000 items", {
      items: many(16_000, () => ({ low: 1, high: 2 })),
    }),
    ...policies.map(([name, expression]) => ({
      name: `CEL: policy over 24,000 keys: ${expression}`,
      path: `${core}/configmaps${dry}`,
      type: json,
      body: Buffer.from(
        JSON.stringify({
          apiVersion: "v1",
          kind: "ConfigMap",
          metadata: { name: "a", labels: { policy: name } },
          data: numbered(24_000),
        }),
      ),
    })),
  ],
};
