/** A user with 3,000 roles among 5,000 bindings; 2,000 webhook configurations and 1,000 policies. */
import { type BodyClass, dry, json, numbered } from "../build-body.ts";
import { digits, post, type Scene, serverWithCopies } from "./scene.ts";

const rbac = "/apis/rbac.authorization.k8s.io/v1";
const rbacVersion = "rbac.authorization.k8s.io/v1";
const core = "/api/v1/namespaces/default";
const user = "many";

const role = {
  apiVersion: rbacVersion,
  kind: "ClusterRole",
  metadata: { name: `r${digits(0)}` },
  rules: [
    { apiGroups: [""], resources: [`things${digits(0)}`, "secrets"], verbs: ["get", "list"] },
    { apiGroups: ["apps"], resources: ["deployments"], verbs: ["get"], resourceNames: ["a", "b"] },
  ],
};

const binding = {
  apiVersion: rbacVersion,
  kind: "RoleBinding",
  metadata: { name: `b${digits(0)}` },
  roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: `r${digits(0)}` },
  subjects: [{ kind: "User", apiGroup: "rbac.authorization.k8s.io", name: user }],
};

export const access: Scene = {
  name: "5,000 roles",
  prepare: (start) =>
    serverWithCopies(
      start,
      async (server) => {
        await post(server, `${rbac}/clusterroles`, role);
        await post(server, `${rbac}/namespaces/default/rolebindings`, binding);
      },
      [
        {
          key: `/registry/clusterroles/r${digits(0)}`,
          replace: (n) => [[digits(0), digits(n)]],
          count: 5_000,
        },
        {
          key: `/registry/rolebindings/default/b${digits(0)}`,
          replace: (n) => [[digits(0), digits(n)]],
          count: 5_000,
        },
      ],
    ),
  requests: [
    {
      name: "roles: rules review",
      path: "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
      type: json,
      body: Buffer.from(
        JSON.stringify({
          apiVersion: "authorization.k8s.io/v1",
          kind: "SelfSubjectRulesReview",
          spec: { namespace: "default" },
        }),
      ),
      user,
    },
    {
      name: "roles: a refused read",
      path: `${core}/configmaps`,
      method: "GET",
      type: json,
      body: Buffer.alloc(0),
      user,
    },
    {
      name: "roles: a role with 2,000 rules by another user",
      path: `${rbac}/namespaces/default/roles${dry}`,
      type: json,
      body: Buffer.from(
        JSON.stringify({
          apiVersion: rbacVersion,
          kind: "Role",
          metadata: { name: "large" },
          rules: Array.from({ length: 2000 }, (_e, n) => ({
            apiGroups: [""],
            resources: [`things${digits(n)}`, "pods"],
            verbs: ["get"],
          })),
        }),
      ),
      user,
    },
    {
      name: "roles: a role binding",
      path: `${rbac}/clusterroles`,
      type: json,
      before: {
        path: `${rbac}/clusterroles`,
        body: (round) =>
          Buffer.from(JSON.stringify({ ...role, metadata: { name: `new${round}` } })),
      },
      body: Buffer.from(JSON.stringify({ ...role, metadata: { name: "new" } })),
    },
  ],
};

const admission = "admissionregistration.k8s.io/v1";

const webhook = {
  apiVersion: admission,
  kind: "ValidatingWebhookConfiguration",
  metadata: { name: `w${digits(0)}` },
  webhooks: [
    {
      name: `w${digits(0)}.example.com`,
      clientConfig: { url: `https://localhost:1/${digits(0)}` },
      rules: [
        { apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"], operations: ["CREATE"] },
      ],
      matchConditions: [{ name: "never", expression: "object.metadata.name == 'none'" }],
      sideEffects: "None",
      admissionReviewVersions: ["v1"],
    },
  ],
};

const policy = {
  apiVersion: admission,
  kind: "ValidatingAdmissionPolicy",
  metadata: { name: `v${digits(0)}` },
  spec: {
    matchConstraints: {
      resourceRules: [
        { apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"], operations: ["CREATE"] },
      ],
    },
    validations: [
      { expression: "!has(object.data) || object.data.all(key, key != 'forbidden')" },
      { expression: `object.metadata.name != 'v${digits(0)}'` },
    ],
  },
};

const policyBinding = {
  apiVersion: admission,
  kind: "ValidatingAdmissionPolicyBinding",
  metadata: { name: `v${digits(0)}` },
  spec: { policyName: `v${digits(0)}`, validationActions: ["Deny"] },
};

const create = (name: string, data: object): BodyClass => ({
  name: `admission: ${name}`,
  path: `${core}/configmaps${dry}`,
  type: json,
  body: Buffer.from(
    JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" }, data }),
  ),
});

const registry = "/apis/admissionregistration.k8s.io/v1";

export const admissions: Scene = {
  name: "2,000 webhooks and 1,000 policies",
  prepare: (start) =>
    serverWithCopies(
      start,
      async (server) => {
        await post(server, `${registry}/validatingwebhookconfigurations`, webhook);
        await post(server, `${registry}/validatingadmissionpolicies`, policy);
        await post(server, `${registry}/validatingadmissionpolicybindings`, policyBinding);
      },
      [
        ["validatingwebhookconfigurations", "w", 2_000] as const,
        ["validatingadmissionpolicies", "v", 1_000] as const,
        ["validatingadmissionpolicybindings", "v", 1_000] as const,
      ].map(([plural, letter, count]) => ({
        key: `/registry/${plural}/${letter}${digits(0)}`,
        replace: (n) => [[digits(0), digits(n)]],
        count,
      })),
    ),
  requests: [
    create("a ConfigMap", { a: "b" }),
    create("a ConfigMap of 1,000 keys", numbered(1_000)),
    create("a ConfigMap of 24,000 keys", numbered(24_000)),
  ],
};
